package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"agent/tools/excerpt"
	"agent/tools/ignore"
)

// Bounds of a walk through folders.
const (
	maxDepth   = 200
	maxVisited = 1_000_000
)

// errEnough ends a walk whose visitor has seen enough.
var errEnough = errors.New("enough")

// visitor gets every file and symlink of a walk, with its path in the workspace.
type visitor func(dir *opened, e fs.DirEntry, rel string) error

// walker goes through the folders below one, in order of name: symlinks are not followed; .git, and
// what git ignores, is passed over.
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

func (k *walker) folder(dir *opened, around *ignore.Rules, depth int) error {
	entries, err := dir.entries(k.ctx)
	if err != nil {
		return err
	}
	own, err := ignore.Own(dir.root, dir.rel, around)
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
		if e.Name() == ".git" || own.LeavesOut(rel, e.IsDir()) {
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
func (k *walker) enter(dir *opened, e fs.DirEntry, own *ignore.Rules, depth int) error {
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

// around collects what the folders around this one say: those of the workspace, and those of the
// repository above it; and what the person ignores everywhere.
func (o *opened) around() (*ignore.Rules, error) {
	person := ""
	if o.w.ignores != nil {
		person = o.w.ignores()
	}
	chain, err := ignore.Above(o.w.Real, person, nil)
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
		chain, err = ignore.Own(dir.root, dir.rel, chain)
		dir.close()
		if err != nil {
			return nil, err
		}
	}
	return chain, nil
}
