package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agent/tools/excerpt"
)

// Bounds of a walk through folders.
const (
	maxDepth    = 200
	maxVisited  = 1_000_000
	maxIgnore   = 1 << 20 // bytes of a .gitignore
	ignoreName  = ".gitignore"
	excludeName = ".git/info/exclude"
)

// errEnough ends a walk whose visitor has seen enough.
var errEnough = errors.New("enough")

// visitor gets every file and symlink of a walk, with its path in the workspace.
type visitor func(dir *opened, e fs.DirEntry, rel string) error

// walker goes through the folders below one, in order of name: symlinks are not followed; .git, and
// what .gitignore leaves out, is passed over.
type walker struct {
	ctx     context.Context
	visit   visitor
	visited int
	passed  []string // what could not be entered, and why
}

// run walks dir. What the .gitignore of the folders around it says holds too, but dir itself was
// asked for by name.
func (k *walker) run(dir *opened) error {
	around, err := dir.around()
	if err != nil {
		return err
	}
	err = k.folder(dir, around, 0)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (k *walker) folder(dir *opened, around *ignores, depth int) error {
	entries, err := dir.entries(k.ctx)
	if err != nil {
		return err
	}
	own, err := dir.ignores(around)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if k.visited++; k.visited > maxVisited {
			k.passed = append(k.passed, fmt.Sprintf("stopped after %d files and folders", maxVisited))
			return errEnough
		}
		if err := k.ctx.Err(); err != nil {
			return err
		}
		rel := path.Join(dir.rel, e.Name())
		if e.Name() == ".git" || own.leavesOut(rel, e.IsDir()) {
			continue
		}
		if !e.IsDir() {
			err = k.visit(dir, e, rel)
		} else {
			err = k.enter(dir, e, own, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Enter goes into a folder. One that cannot be entered is noted and does not end the walk.
func (k *walker) enter(dir *opened, e fs.DirEntry, own *ignores, depth int) error {
	rel := path.Join(dir.rel, e.Name())
	if depth == maxDepth {
		k.passed = append(k.passed, fmt.Sprintf("%s is too deep", excerpt.Name(rel)))
		return nil
	}
	sub, err := dir.below(e.Name(), rel)
	if err == nil {
		err = k.folder(sub, own, depth+1)
		sub.close()
	}
	var refused *fs.PathError
	if err == nil || errors.Is(err, errEnough) || k.ctx.Err() != nil {
		return err
	}
	what := err.Error()
	if errors.As(err, &refused) {
		what = refused.Err.Error()
	}
	k.passed = append(k.passed, fmt.Sprintf("%s: %s", excerpt.Name(rel), what))
	return nil
}

func (o *opened) below(name, rel string) (*opened, error) {
	info, err := o.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if o.w.Denies(filepath.Join(o.w.Real, filepath.FromSlash(rel)), info) {
		return nil, errors.New("it is the state folder")
	}
	sub, err := Enter(o.root, name, info)
	if err != nil {
		return nil, err
	}
	return &opened{w: o.w, root: sub, rel: rel}, nil
}

// note says what a walk passed over.
func (k *walker) note() string {
	const shown = 5
	if len(k.passed) == 0 {
		return ""
	}
	text := "[not entered: " + strings.Join(k.passed[:min(shown, len(k.passed))], "; ")
	if more := len(k.passed) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "]\n"
}

// ignores reads the folder's own .gitignore. One that is no regular file, or is larger than any
// real one, says nothing.
func (o *opened) ignores(around *ignores) (*ignores, error) {
	text, err := readSmall(o.root, ignoreName)
	if err != nil || text == "" {
		return around, err
	}
	base := o.rel
	if base == "." {
		base = ""
	}
	return &ignores{around: around, base: base, rules: parseIgnore(text)}, nil
}

// readSmall reads a regular file of a folder; "" if there is none.
func readSmall(dir *os.Root, name string) (string, error) {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return "", nil // not there, or not to be looked at: both say nothing
	}
	f, _, err := openRegular(dir, name, info)
	if errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read from; nothing can be lost
	b, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	return string(b), err
}

// around collects what the folders around this one say: those of the workspace, and those of the
// repository above it.
func (o *opened) around() (*ignores, error) {
	chain, err := o.w.above()
	if err != nil || o.rel == "." {
		return chain, err
	}
	parts := strings.Split(o.rel, "/")
	for i := range parts {
		rel := "."
		if i > 0 {
			rel = strings.Join(parts[:i], "/")
		}
		dir, err := o.w.openFolder(rel)
		if err != nil {
			return nil, err
		}
		chain, err = dir.ignores(chain)
		dir.close()
		if err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// above collects what the repository that the workspace lies in says about it from outside.
func (w *Workspace) above() (*ignores, error) {
	top := w.Real
	for {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			break
		}
		if top == filepath.Dir(top) {
			return nil, nil // no repository
		}
		top = filepath.Dir(top)
	}
	way, err := filepath.Rel(top, w.Real)
	if err != nil {
		return nil, fmt.Errorf("find the repository of %s: %v", w.Real, err)
	}
	chain, err := readAbove(top, excludeName, way, nil)
	if err != nil || way == "." {
		return chain, err
	}
	parts := strings.Split(filepath.ToSlash(way), "/")
	for i := range parts {
		folder := filepath.Join(top, filepath.Join(parts[:i]...))
		if chain, err = readAbove(folder, ignoreName, path.Join(parts[i:]...), chain); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// readAbove reads one ignore file above the workspace. prefix is the way from what it speaks about
// to the workspace.
func readAbove(folder, name, prefix string, around *ignores) (*ignores, error) {
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return around, nil // a folder that cannot be opened says nothing
	}
	defer dir.Close() // it was only read from; nothing can be lost
	text, err := readSmall(dir, name)
	if err != nil || text == "" {
		return around, err
	}
	return &ignores{around: around, prefix: filepath.ToSlash(prefix), rules: parseIgnore(text)}, nil
}
