package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/tools/files"
	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/gitrepo/objects"
)

// repository is a repository before a commit. It is read from its files (gitrepository-layout(5)):
// git itself would run what the repository's configuration names.
type repository struct {
	Git     string `json:"git"`           // the repository's folder, absolute
	Common  string `json:"common"`        // that of its main worktree
	Ref     string `json:"ref,omitempty"` // the branch; "" when HEAD is detached
	Head    string `json:"head,omitempty"`
	Tree    string `json:"tree"`            // of the index
	Taken   string `json:"taken,omitempty"` // of all tracked files as they are on disk, where the commit takes those
	Marks   string `json:"marks"`           // inode and time of what a commit writes
	Hooks   bool   `json:"hooks,omitempty"`
	Message string `json:"message"`

	top string // of the work tree, where it was just found
}

// maxGit bounds each file of a repository that is read whole.
const maxGit = 32 << 20

// repoOf reads the repository of a folder, whose hooks may be those that run the program exe; all
// says that a commit takes every tracked file. An error means that nothing can be said afterwards
// about a commit in it.
func repoOf(folder, exe string, all bool) (repository, error) {
	r, err := repoAt(folder)
	if err != nil {
		return r, err
	}
	if err := r.settled(); err != nil {
		return r, err
	}
	for _, name := range configs(r) {
		text, err := gitconfig.ReadFile(name, maxGit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		rest, _ := hooklines.Cut(string(text), exe)
		if word := telling(strings.ToLower(rest), all); word != "" {
			return r, fmt.Errorf("%s sets %s, which may change what a commit does", name, word)
		}
	}
	if r.Hooks, err = hooks(filepath.Join(r.Common, "hooks"), exe); err != nil {
		return r, err
	}
	if r.Ref, r.Head, err = r.head(); err != nil {
		return r, err
	}
	if r.Tree, err = r.objects().IndexTree(); err != nil {
		return r, err
	}
	if all {
		if r.Taken, err = r.objects().WorkTree(); err != nil {
			return r, err
		}
	}
	r.Marks = r.marks()
	return r, nil
}

// repoAt finds the repository as git does.
func repoAt(folder string) (repository, error) {
	r, ok, err := objects.Find(folder)
	if err == nil && !ok {
		err = fmt.Errorf("there is no repository above %s", folder)
	}
	return repository{Git: r.Git, Common: r.Common, top: r.Top}, err
}

// objects is the same repository to who reads it. One whose objects have other ids, or whose refs
// are stored otherwise, is refused before (telling).
func (r repository) objects() objects.Repository {
	return objects.Repository{Top: r.top, Git: r.Git, Common: r.Common}
}

// settled refuses a repository in the middle of something, or whose locks are taken.
func (r repository) settled() error {
	for _, name := range []string{
		"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "MERGE_MSG", "rebase-merge", "rebase-apply", "index.lock", "HEAD.lock",
	} {
		if _, err := os.Lstat(filepath.Join(r.Git, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there", name)
		}
	}
	if r.Ref != "" {
		if _, err := os.Lstat(filepath.Join(r.Common, r.Ref+".lock")); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s.lock is there", r.Ref)
		}
	}
	return nil
}

func configs(r repository) []string {
	home := os.Getenv("HOME")
	return []string{
		filepath.Join(r.Common, "config"), filepath.Join(r.Git, "config.worktree"), filepath.Join(home, ".gitconfig"),
		filepath.Join(home, ".config", "git", "config"), "/etc/gitconfig",
	}
}

// telling finds a setting by which a commit may be another one than its command says, or be stored
// elsewhere; of one of all tracked files also a setting by which files are compared otherwise.
func telling(config string, all bool) string {
	words := []string{
		"hookspath", "[hook", "include", "cleanup", "commitencoding", "refstorage", "objectformat", "sparse", "splitindex", "worktree =", "worktree=", "alias",
	}
	if all {
		config = strings.ReplaceAll(config, "filemode = true", "") // git writes it into each new repository
		words = append(words, "filemode", "symlinks", "ignorecase", "trustctime", "checkstat", "ignorestat", "safecrlf")
	}
	for _, word := range words {
		if strings.Contains(config, word) {
			return word
		}
	}
	return ""
}

// hooks says whether a commit runs something of others before it is made. What runs after it cannot
// be looked at.
func hooks(dir, exe string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	before := false
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil || info.Mode()&0o111 == 0 {
			continue
		}
		switch e.Name() {
		case "pre-commit", "prepare-commit-msg", "commit-msg":
			before = before || !ours(filepath.Join(dir, e.Name()), exe)
		case "post-commit", "reference-transaction", "post-index-change":
			return false, fmt.Errorf("the hook %s acts when the commit is made", e.Name())
		}
	}
	return before, nil
}

// ours says whether a hook's file only runs the program exe.
func ours(name, exe string) bool {
	text, err := gitconfig.ReadFile(name, maxHook)
	return err == nil && slices.ContainsFunc(hooklines.Hooks(), func(h hooklines.Hook) bool {
		return h.Event == filepath.Base(name) && h.Script(exe) == string(text)
	})
}

// maxHook bounds a hook's file that could be ours, in bytes.
const maxHook = 64 << 10

// head reads where HEAD leads. id is "" on a branch without a commit.
func (r repository) head() (ref, id string, err error) {
	head, err := r.objects().Head()
	if err == nil && head.Ref != "" && !strings.HasPrefix(head.Ref, "refs/heads/") {
		err = fmt.Errorf("HEAD leads to %s", head.Ref)
	}
	return head.Ref, head.Commit, err
}

// marks tells whether anything moved HEAD or its branch, also there and back.
func (r repository) marks() string {
	var all []string
	for _, name := range []string{
		filepath.Join(r.Git, "HEAD"), filepath.Join(r.Git, "logs", "HEAD"), filepath.Join(r.Common, r.Ref), filepath.Join(r.Common, "packed-refs"),
	} {
		info, err := os.Lstat(name)
		if err != nil {
			all = append(all, "-")
			continue
		}
		id := files.IDOf(info)
		all = append(all, fmt.Sprintf("%d.%d.%d", id.Inode, id.Ctime, info.Size()))
	}
	return strings.Join(all, " ")
}

// inspect says what became of the commit.
func (r repository) inspect(began time.Time) (found, string) {
	if err := r.settled(); err != nil {
		return foundOdd, err.Error()
	}
	ref, id, err := r.head()
	switch {
	case err != nil:
		return foundOdd, err.Error()
	case ref != r.Ref:
		return foundOdd, "HEAD is on another branch than before"
	case id == r.Head:
		return r.inspectSame()
	}
	c, err := r.objects().FreshCommit(id)
	if err != nil {
		return foundOdd, err.Error()
	}
	why := differs(c, r, began)
	if why != "" {
		return foundOdd, fmt.Sprintf("HEAD is the commit %.12s, and %s", id, why)
	}
	return foundNew, fmt.Sprintf("HEAD is the commit %.12s with the tree and the message that were to be committed", id)
}

func (r repository) inspectSame() (found, string) {
	tree, err := r.objects().IndexTree()
	switch {
	case err != nil:
		return foundOdd, err.Error()
	case r.marks() != r.Marks:
		return foundOdd, "HEAD is the commit that it was, but was moved since"
	case tree != r.Tree:
		return foundOdd, "HEAD is the commit that it was, but something else is staged now"
	case r.Hooks:
		return foundOdd, "HEAD is the commit that it was, but a hook may have run"
	}
	return foundOld, "HEAD and what is staged are exactly as before"
}

// clockLag is how far the clock of git may be behind the one that said when the command began. Git
// asks for whole seconds, and the kernel answers with the time of its last tick: a commit made as a
// second begins belongs to the second before.
const clockLag = time.Second / 10

// differs says why a commit is not the one that was to be made; empty when it is.
func differs(c objects.Commit, r repository, began time.Time) string {
	var parents []string
	if r.Head != "" {
		parents = []string{r.Head}
	}
	switch {
	case !slices.Equal(c.Parents, parents):
		return "its parent is not what HEAD was"
	case c.Tree != cmp.Or(r.Taken, r.Tree):
		return "its tree is not what was staged"
	case c.Message != r.Message && hooklines.Without(c.Message) != r.Message || c.Encoded:
		return "its message is not the one that was given"
	case c.When < began.Add(-clockLag).Unix():
		return "it is older than the command"
	}
	return ""
}
