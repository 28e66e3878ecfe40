package ignore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"agent/tools/gitrepo/gitconfig"
)

// Name is that of the files which hold rules, and MaxBytes what one may have: a larger one says
// nothing.
const (
	Name     = ".gitignore"
	MaxBytes = 1 << 20
)

const excludeName = "info/exclude"

// Own adds what the .gitignore of a folder says. One that is no regular file, or is larger than any
// real one, says nothing. rel is the folder's path in the workspace, "." for the workspace itself.
func Own(dir *os.Root, rel string, around *Rules) (*Rules, error) {
	text, err := readSmall(dir, Name)
	if err != nil {
		return around, err
	}
	if rel == "." {
		rel = ""
	}
	return around.Below(rel, text), nil
}

// Above collects what holds in a workspace from outside: what the repository that it lies in says
// of it, and what the person ignores everywhere, in a file that gitconfig.Ignores found; "" is
// none. Without a repository that file is seen from the workspace. The path of the workspace is
// absolute and without links. A text that was there before is not parsed again.
func Above(real, person string, before *Rules) (*Rules, error) {
	top, is := topOf(real)
	way, err := filepath.Rel(top, real)
	if err != nil {
		return nil, fmt.Errorf("find the repository of %s: %v", real, err)
	}
	var chain *Rules
	if person != "" {
		// It is what the person wrote, wherever links lead to it. What cannot be read says nothing.
		text, _ := gitconfig.ReadFile(gitconfig.From(top, person), MaxBytes)
		chain = chain.outside(way, string(text), before)
	}
	if !is {
		return chain, nil
	}
	if chain, err = readAbove(shared(top), excludeName, way, chain, before); err != nil || way == "." {
		return chain, err
	}
	parts := strings.Split(filepath.ToSlash(way), "/")
	for i := range parts {
		folder := filepath.Join(top, filepath.Join(parts[:i]...))
		if chain, err = readAbove(folder, Name, path.Join(parts[i:]...), chain, before); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// topOf is the top of the repository that a folder lies in, and the folder itself without one.
func topOf(folder string) (top string, is bool) {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return folder, false
		}
	}
}

// shared is where the repository of a work tree has what all its work trees obey.
func shared(top string) string {
	git := filepath.Join(top, ".git")
	if to, ok := gitconfig.GitFile(git); ok { // a linked worktree, or a submodule
		git = to
	}
	common, _ := gitconfig.Common(git)
	return common
}

// readAbove reads one file of rules above the workspace. prefix is the way from what it speaks
// about to the workspace.
func readAbove(folder, name, prefix string, around, before *Rules) (*Rules, error) {
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return around, nil // a folder that cannot be opened says nothing
	}
	defer dir.Close() // it was only read from; nothing can be lost
	text, err := readSmall(dir, name)
	if err != nil {
		return around, err
	}
	return around.outside(prefix, text, before), nil
}

// outside adds what a text above the workspace says.
func (g *Rules) outside(prefix, text string, before *Rules) *Rules {
	if text == "" {
		return g
	}
	added := &Rules{around: g, prefix: filepath.ToSlash(prefix), text: text}
	for ; before != nil; before = before.around {
		if before.text == text {
			added.rules = before.rules
			return added
		}
	}
	added.rules = parse(text)
	return added
}

// readSmall reads a regular file of a folder; "" if there is none. It never waits, not even for a
// FIFO that was put in the file's place.
func readSmall(dir *os.Root, name string) (string, error) {
	want, err := dir.Lstat(name)
	if err != nil || !want.Mode().IsRegular() || want.Size() > MaxBytes {
		return "", nil // not there, or not to be looked at: both say nothing
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the rules in %s: %w", name, err)
	}
	defer f.Close() // it was only read from; nothing can be lost
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, want) {
		err = errors.New("it was replaced meanwhile")
	}
	if err != nil {
		return "", fmt.Errorf("read the rules in %s: %w", name, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes))
	return string(b), err
}
