//go:build !linux

package scan

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// folder is an open one.
type folder struct{ root *os.Root }

func openTop(path string) (folder, error) {
	root, err := os.OpenRoot(path)
	return folder{root}, err
}

// open opens a folder and never a link to one.
func (d folder) open(name string, _ bool) (folder, error) {
	sub, err := enter(d.root, name)
	if err == nil && sub == nil {
		err = fs.ErrNotExist
	}
	return folder{sub}, err
}

func (d folder) close() { _ = d.root.Close() } // it was only read from; nothing can be lost

// each goes through the names.
func (d folder) each(_ *walk, yield func(name []byte)) error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close() // it was only read from; nothing can be lost
	list, err := f.Readdirnames(-1)
	for _, name := range list {
		yield([]byte(name))
	}
	return err
}

func (d folder) stat(name string) (Entry, identity, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Entry{}, identity{}, err
	}
	return entryOf(info), identity{}, nil
}

// self is the folder itself.
func (d folder) self() (Entry, identity, error) { return d.stat(".") }

// trusted is the file system whose folders show in their times that their names changed: none is
// known to.
type trusted struct{}

func (d folder) keepsTimes(identity) trusted { return trusted{} }

func (trusted) keeps(identity) bool { return false }

// small reads a regular file; "" if there is none, or if it is larger.
func (d folder) small(name string, most int64) string {
	want, err := d.root.Lstat(name)
	if err != nil || !want.Mode().IsRegular() || want.Size() > most {
		return ""
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close() // it was only read from; nothing can be lost
	text, err := io.ReadAll(io.LimitReader(f, most))
	if info, serr := f.Stat(); err != nil || serr != nil || !os.SameFile(info, want) {
		return ""
	}
	return string(text)
}

// identity is not known here.
type identity struct{}

// excluded is a folder that is left out: by its path.
type excluded struct{ path string }

func excludedAt(root, dir string) (excluded, bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return excluded{}, false // nothing is there
	}
	rel, err := filepath.Rel(root, real)
	return excluded{filepath.ToSlash(rel)}, err == nil
}

func (x excluded) is(path string, _ identity) bool { return x.path == path }

// isGone says that what was listed is there no more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errReplaced) }

// entryOf is what package os reports of a path.
func entryOf(info fs.FileInfo) Entry { return plainEntry(info) }

// ownerOf is not known here.
func ownerOf(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }
