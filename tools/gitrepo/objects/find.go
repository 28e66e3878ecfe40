package objects

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/tools/gitrepo/gitconfig"
)

// Repository is the one that a folder's files belong to.
type Repository struct {
	Top    string // of the work tree, absolute, without links
	Git    string // its own git folder; of a linked worktree .git/worktrees/x
	Common string // where objects and refs are
	Prefix string // of the folder inside the work tree, with slashes; "" for its top
	SHA256 bool   // its objects are named by SHA-256

	tables bool // its refs are kept in reftables
}

// Find finds the repository that a folder's files belong to, as git does: upwards. ok is false
// where there is none, where it has no work tree or one elsewhere, and where it cannot be read.
func Find(folder string) (Repository, bool, error) {
	real, err := filepath.EvalSymlinks(folder)
	if err == nil && !filepath.IsAbs(real) {
		err = errors.New("not an absolute path")
	}
	if err != nil {
		return Repository{}, false, fmt.Errorf("find the repository of %s: %w", folder, err)
	}
	device := deviceOf(real)
	for at := real; ; at = filepath.Dir(at) {
		if deviceOf(at) != device {
			return Repository{}, false, nil // git stops at the border of a file system
		}
		name := filepath.Join(at, ".git")
		switch info, err := os.Stat(name); {
		case err == nil && info.IsDir():
			if isGit(name) {
				r, ok := read(real, at, name)
				return r, ok, nil
			}
		case err == nil:
			to, ok := gitconfig.GitFile(name)
			if !ok || !isGit(to) {
				return Repository{}, false, nil // git refuses it as well
			}
			r, ok := read(real, at, to)
			return r, ok, nil
		}
		if isGit(at) || at == filepath.Dir(at) {
			return Repository{}, false, nil // a repository without a work tree, or the root
		}
	}
}

// Reftable says that refs and their logs are kept in reftables, which git alone reads.
func (r Repository) Reftable() bool { return r.tables }

// maxLine bounds the files of a repository that hold one line.
const maxLine = 64 << 10

// isGit says whether a folder is a repository's own: it has HEAD, objects and refs.
func isGit(dir string) bool {
	if info, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil || info.IsDir() {
		return false
	} else if info.Mode()&fs.ModeSymlink == 0 {
		text, err := gitconfig.ReadFile(filepath.Join(dir, "HEAD"), maxLine)
		if err != nil || !strings.HasPrefix(string(text), "ref:") && !startsWithID(string(text)) {
			return false
		}
	}
	common, _ := gitconfig.Common(dir)
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

func startsWithID(text string) bool {
	if len(text) < 40 {
		return false
	}
	_, err := hex.DecodeString(text[:40])
	return err == nil
}

// read reads what a repository says of itself: git-config, core.repositoryFormatVersion and
// extensions. ok is false where git would refuse it, or where the folder is not in its work tree.
func read(folder, top, git string) (r Repository, ok bool) {
	common, linked := gitconfig.Common(git)
	for _, dir := range []*string{&git, &common} {
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	r = Repository{Top: top, Git: git, Common: common}
	list, err := settings(filepath.Join(common, "config"))
	if err != nil {
		return r, false
	}
	own, ok := r.format(list)
	if !ok {
		return r, false
	}
	if own {
		more, err := settings(filepath.Join(git, "config.worktree"))
		if err != nil {
			return r, false
		}
		list = append(list, more...)
	}
	if (!linked || own) && !r.placed(list) {
		return r, false
	}
	rel, err := filepath.Rel(r.Top, folder)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return r, false
	}
	if rel != "." {
		r.Prefix = filepath.ToSlash(rel)
	}
	return r, true
}

// settings reads one file, without what it includes: git reads a repository's format like this.
func settings(name string) ([]gitconfig.Setting, error) {
	text, err := gitconfig.ReadFile(name, gitconfig.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return gitconfig.Parse(text, filepath.Dir(name))
}

// format takes in how a repository is stored; ok is false where that is not known. own says that
// each worktree has settings of its own.
func (r *Repository) format(list []gitconfig.Setting) (own, ok bool) {
	version := "0"
	for _, s := range list {
		if s.Is("core", "repositoryformatversion") {
			version = s.Value
		}
	}
	if version != "0" && version != "1" {
		return false, false
	}
	for _, s := range list {
		if s.Section != "extensions" || s.Sub != "" {
			continue
		}
		switch value := strings.ToLower(s.Value); s.Name {
		case "worktreeconfig":
			own = !isFalse(value)
		case "objectformat":
			r.SHA256 = value == "sha256"
			if version == "0" || value != "sha1" && value != "sha256" {
				return false, false
			}
		case "refstorage":
			r.tables = value == "reftable"
			if version == "0" || value != "files" && value != "reftable" {
				return false, false
			}
		case "noop", "partialclone", "preciousobjects", "relativeworktrees", "compatobjectformat", "submodulepathconfig":
		default:
			if version == "1" {
				return false, false // git refuses what it does not know, too
			}
		}
	}
	return own, true
}

// placed takes in where the work tree is.
func (r *Repository) placed(list []gitconfig.Setting) bool {
	for _, s := range list {
		switch {
		case s.Is("core", "bare") && !isFalse(s.Value):
			return false
		case s.Is("core", "worktree"):
			top, err := filepath.EvalSymlinks(gitconfig.From(r.Git, s.Value))
			if err != nil {
				return false
			}
			r.Top = top
		}
	}
	return true
}

// isFalse says whether git takes a value for no: git-config, "Values".
func isFalse(value string) bool {
	switch strings.ToLower(value) {
	case "", "false", "no", "off", "0":
		return true
	}
	return false
}
