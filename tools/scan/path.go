package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agent/recovery/journal"
)

// errReplaced says that a folder is not the one that was looked at.
var errReplaced = errors.New("it was replaced meanwhile")

// split gives the names on the way to a path. Only a path below the workspace that no repository
// keeps for itself has any.
func split(path string) ([]string, error) {
	parts := strings.Split(path, "/")
	for _, p := range parts {
		switch {
		case p == "", p == ".", p == "..", strings.IndexByte(p, 0) >= 0, !filepath.IsLocal(p), p != filepath.Base(p):
			return nil, errors.New("not a path below the workspace")
		case isGit(p):
			return nil, errors.New("what is called .git is git's own")
		}
	}
	return parts, nil
}

// enter opens a folder below dir; nil where no folder is. It follows no link and waits for no FIFO,
// whatever is put in the folder's place meanwhile.
func enter(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sub, err := dir.OpenRoot(name + "/.") // with the dot it is opened as a folder or not at all
	if err != nil {
		return nil, err
	}
	got, err := sub.Stat(".")
	if err == nil && !os.SameFile(got, info) {
		err = errReplaced
	}
	if err != nil {
		_ = sub.Close() // it was only read from; nothing can be lost
		return nil, err
	}
	return sub, nil
}

// reach opens the folder that the names lead to; nil where none is. It is to be closed unless it is
// root itself.
func reach(root *os.Root, names []string) (*os.Root, error) {
	at := root
	for _, name := range names {
		sub, err := enter(at, name)
		if at != root {
			_ = at.Close() // it was only read from; nothing can be lost
		}
		if sub == nil || err != nil {
			return nil, err
		}
		at = sub
	}
	return at, nil
}

// plainEntry is what every system reports of a path.
func plainEntry(info fs.FileInfo) Entry {
	e := Entry{Mode: modeOf(info.Mode()), Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	switch m := info.Mode(); {
	case m.IsRegular():
	case m.IsDir():
		e.Kind = journal.FileFolder
	case m&fs.ModeSymlink != 0:
		e.Kind, e.Mode = journal.FileLink, 0
	default:
		e.Kind = journal.FileSpecial
	}
	return e
}

// modeOf are the permission bits as in chmod(2).
func modeOf(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	for bit, is := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&is != 0 {
			mode |= bit
		}
	}
	return mode
}

// fileMode is the reverse of modeOf.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, is := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= is
		}
	}
	return m
}

// isShort says that it is not the path, but this process or the machine, that lacks something.
func isShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// about says what was attempted with a path.
func about(what, path string, err error) error {
	switch e := err.(type) { // the paths in them name a folder that is open, which says nothing to a reader
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	}
	return fmt.Errorf("%s %q: %w", what, path, err)
}
