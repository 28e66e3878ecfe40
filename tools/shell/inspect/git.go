package inspect

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"agent/tools/files"
)

// repository is a repository before a commit. It is read from its files (gitrepository-layout(5)):
// git itself would run what the repository's configuration names.
type repository struct {
	Git     string `json:"git"`           // the repository's folder, absolute
	Common  string `json:"common"`        // that of its main worktree
	Ref     string `json:"ref,omitempty"` // the branch; "" when HEAD is detached
	Head    string `json:"head,omitempty"`
	Tree    string `json:"tree"`  // of the index
	Marks   string `json:"marks"` // inode and time of what a commit writes
	Hooks   bool   `json:"hooks,omitempty"`
	Message string `json:"message"`
}

// maxGit bounds each file of a repository that is read whole.
const maxGit = 32 << 20

// readPlain reads a regular file and never waits, whatever lies in its place.
func readPlain(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxGit) {
		err = fmt.Errorf("%s is no file that can be read", name)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxGit))
}

// repoOf reads the repository of a folder. An error means that nothing can be said afterwards about
// a commit in it.
func repoOf(folder string) (repository, error) {
	r, err := repoAt(folder)
	if err != nil {
		return r, err
	}
	if err := r.settled(); err != nil {
		return r, err
	}
	for _, name := range configs(r) {
		text, err := readPlain(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		if word := telling(strings.ToLower(string(text))); word != "" {
			return r, fmt.Errorf("%s sets %s, which may change what a commit does", name, word)
		}
	}
	if r.Hooks, err = hooks(filepath.Join(r.Common, "hooks")); err != nil {
		return r, err
	}
	if r.Ref, r.Head, err = r.head(); err != nil {
		return r, err
	}
	if r.Tree, err = r.indexTree(); err != nil {
		return r, err
	}
	r.Marks = r.marks()
	return r, nil
}

// repoAt finds the repository as git does: upwards.
func repoAt(folder string) (repository, error) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		name := filepath.Join(at, ".git")
		info, err := os.Stat(name)
		switch {
		case err == nil && info.IsDir():
			return repository{Git: name, Common: name}, nil
		case err == nil:
			return linked(name)
		case at == filepath.Dir(at):
			return repository{}, fmt.Errorf("there is no repository above %s", folder)
		}
	}
}

// linked reads the .git file of a linked worktree or a submodule.
func linked(name string) (repository, error) {
	text, err := readPlain(name)
	if err != nil {
		return repository{}, err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return repository{}, fmt.Errorf("%s names no repository", name)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(name), dir)
	}
	r := repository{Git: dir, Common: dir}
	if text, err := readPlain(filepath.Join(dir, "commondir")); err == nil {
		r.Common = strings.TrimSpace(string(text))
		if !filepath.IsAbs(r.Common) {
			r.Common = filepath.Join(dir, r.Common)
		}
	}
	return r, nil
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
// elsewhere.
func telling(config string) string {
	for _, word := range []string{
		"hookspath", "[hook", "include", "cleanup", "commitencoding", "refstorage", "objectformat", "sparse", "splitindex", "worktree =", "worktree=", "alias",
	} {
		if strings.Contains(config, word) {
			return word
		}
	}
	return ""
}

// hooks says whether a commit runs something before it is made. What runs after it cannot be looked
// at.
func hooks(dir string) (bool, error) {
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
			before = true
		case "post-commit", "reference-transaction", "post-index-change":
			return false, fmt.Errorf("the hook %s acts when the commit is made", e.Name())
		}
	}
	return before, nil
}

// head reads where HEAD leads. id is "" on a branch without a commit.
func (r repository) head() (ref, id string, err error) {
	text, err := readPlain(filepath.Join(r.Git, "HEAD"))
	if err != nil {
		return "", "", err
	}
	line := strings.TrimSpace(string(text))
	ref, symbolic := strings.CutPrefix(line, "ref: ")
	if !symbolic {
		return "", line, hexID(line)
	}
	if !strings.HasPrefix(ref, "refs/heads/") || strings.Contains(ref, "..") {
		return ref, "", fmt.Errorf("HEAD leads to %s", ref)
	}
	text, err = readPlain(filepath.Join(r.Common, ref))
	if err == nil {
		id = strings.TrimSpace(string(text))
		return ref, id, hexID(id)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return ref, "", err
	}
	packed, err := readPlain(filepath.Join(r.Common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ref, "", err
	}
	for line := range strings.Lines(string(packed)) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return ref, id, hexID(id)
		}
	}
	return ref, "", nil
}

func hexID(id string) error {
	if _, err := hex.DecodeString(id); err != nil || len(id) != 40 {
		return fmt.Errorf("%.60q is no commit's id", id)
	}
	return nil
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
	c, err := readCommit(r.Common, id)
	if err != nil {
		return foundOdd, err.Error()
	}
	why := c.differs(r, began)
	if why != "" {
		return foundOdd, fmt.Sprintf("HEAD is the commit %.12s, and %s", id, why)
	}
	return foundNew, fmt.Sprintf("HEAD is the commit %.12s with the tree and the message that were to be committed", id)
}

func (r repository) inspectSame() (found, string) {
	tree, err := r.indexTree()
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

// commit is a commit's object.
type commit struct {
	tree, message string
	parents       []string
	when          int64 // of the committer, seconds since 1970
	encoded       bool
}

// clockLag is how far the clock of git may be behind the one that said when the command began. Git
// asks for whole seconds, and the kernel answers with the time of its last tick: a commit made as a
// second begins belongs to the second before.
const clockLag = time.Second / 10

// differs says why a commit is not the one that was to be made; empty when it is.
func (c commit) differs(r repository, began time.Time) string {
	var parents []string
	if r.Head != "" {
		parents = []string{r.Head}
	}
	switch {
	case !slices.Equal(c.parents, parents):
		return "its parent is not what HEAD was"
	case c.tree != r.Tree:
		return "its tree is not what was staged"
	case c.message != r.Message || c.encoded:
		return "its message is not the one that was given"
	case c.when < began.Add(-clockLag).Unix():
		return "it is older than the command"
	}
	return ""
}

// readCommit reads a commit that was just made, and so lies alone in its file.
func readCommit(common, id string) (commit, error) {
	packed, err := readPlain(filepath.Join(common, "objects", id[:2], id[2:]))
	if err != nil {
		return commit{}, err
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return commit{}, err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxGit))
	if err != nil {
		return commit{}, err
	}
	kind, body, _ := strings.Cut(string(text), "\x00")
	if !strings.HasPrefix(kind, "commit ") {
		return commit{}, fmt.Errorf("%.12s is no commit", id)
	}
	head, message, _ := strings.Cut(body, "\n\n")
	c := commit{message: message}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "encoding":
			c.encoded = true
		case "committer":
			words := strings.Fields(value)
			if len(words) > 1 {
				// A time that is no number counts as the oldest, and so refuses the commit.
				c.when, _ = strconv.ParseInt(words[len(words)-2], 10, 64)
			}
		}
	}
	return c, nil
}
