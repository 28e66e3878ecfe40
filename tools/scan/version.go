package scan

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"agent/recovery/journal"
)

// settled is how old a change must be for the times of a file to show another one: some kernels
// count time in steps.
const settled = 20 * time.Millisecond

// Version reads what is at a path now: v is nil where nothing is, also where a link is in the way.
// The content is nil unless it is that of a regular file of at most max bytes that can be read and
// does not change meanwhile; v.Lost says what is the case otherwise. Who calls it names the content
// in v. Below a folder that may not be entered all are one file that cannot be read. An error says
// that it cannot be known what is there.
func Version(root *os.Root, path string, max int64) (v *journal.FileVersion, e Entry, content []byte, err error) {
	names, err := split(path)
	if err != nil {
		return nil, Entry{}, nil, about("look at", path, err)
	}
	last := len(names) - 1
	dir, err := reach(root, names[:last])
	if errors.Is(err, fs.ErrPermission) {
		v, e = closed()
		return v, e, nil, nil
	}
	if err != nil {
		return nil, Entry{}, nil, about("look at", path, err)
	}
	if dir == nil {
		return nil, Entry{}, nil, nil
	}
	if dir != root {
		defer dir.Close() // it was only read from; nothing can be lost
	}
	for range 2 {
		v, e, content, err = look(dir, names[last], max)
		if !errors.Is(err, errReplaced) {
			break
		}
	}
	switch {
	case errors.Is(err, errReplaced) && v != nil:
		v.Lost, v.Stamp = journal.LeftUnstable, e.Stamp()
	case errors.Is(err, fs.ErrPermission):
		v, e = closed()
		content = nil
	case err != nil:
		return nil, Entry{}, nil, about("look at", path, err)
	}
	return v, e, content, nil
}

// closed is what is in a folder that may not be entered, whatever that is.
func closed() (*journal.FileVersion, Entry) {
	e := Entry{Out: journal.LeftUnreadable}
	return &journal.FileVersion{Lost: e.Out, Stamp: e.Stamp()}, e
}

// IsClosed says whether a version is in a folder that may not be entered: it is not known what it
// is.
func IsClosed(v *journal.FileVersion) bool {
	is, _ := closed()
	return v != nil && v.Lost == is.Lost && v.Stamp == is.Stamp
}

// Names lists what a folder holds, also what is out of scope. Where no folder is, or one that may
// not be read, it holds nothing that anybody knows of.
func Names(root *os.Root, path string) ([]string, error) {
	names, err := split(path)
	if err != nil {
		return nil, about("list", path, err)
	}
	dir, err := reach(root, names)
	switch {
	case errors.Is(err, fs.ErrPermission), err == nil && dir == nil:
		return nil, nil
	case err != nil:
		return nil, about("list", path, err)
	}
	defer dir.Close() // it was only read from; nothing can be lost
	list, err := namesIn(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, about("list", path, err)
	}
	return list, nil
}

// look reads what is in a folder under a name. Where it changes meanwhile, the error is
// errReplaced, and the version what it was.
func look(dir *os.Root, name string, max int64) (*journal.FileVersion, Entry, []byte, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Entry{}, nil, nil
	}
	if err != nil {
		return nil, Entry{}, nil, err
	}
	e := entryOf(info)
	v := &journal.FileVersion{Kind: e.Kind, Mode: e.Mode}
	var content []byte
	switch e.Kind {
	case journal.FileFolder:
	case journal.FileLink:
		to, err := dir.Readlink(name)
		if err != nil {
			return nil, e, nil, errReplaced
		}
		v.Link = journal.LinkTarget(to)
	case journal.FileSpecial:
		e.Out = journal.LeftSpecial
		v.Lost, v.Stamp = e.Out, e.Stamp()
	default:
		v.Size = e.Size
		if e.Size > max {
			e.Out = journal.LeftTooLarge
			v.Lost, v.Stamp = e.Out, e.Stamp()
			break
		}
		content, err = readStable(dir, name, info)
		if errors.Is(err, errReplaced) || isShort(err) {
			return v, e, nil, err
		}
		if err != nil {
			v.Lost, v.Stamp = journal.LeftUnreadable, e.Stamp()
		}
	}
	return v, e, content, nil
}

// openRegular opens the regular file that info describes, and waits for no FIFO that was put in its
// place.
func openRegular(dir *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) || isShort(err):
		return nil, err
	default:
		return nil, errReplaced // it is gone, or something else
	}
	now, err := f.Stat()
	if err == nil && (!os.SameFile(now, info) || entryOf(now) != entryOf(info)) {
		err = errReplaced
	}
	if err != nil {
		_ = f.Close() // it was only read from; nothing can be lost
		return nil, err
	}
	return f, nil
}

// readStable reads a regular file that does not change meanwhile.
func readStable(dir *os.Root, name string, info fs.FileInfo) ([]byte, error) {
	f, err := openRegular(dir, name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	size := info.Size()
	content := make([]byte, size+1)
	young := time.Since(time.Unix(0, max(entryOf(info).Ctime, entryOf(info).Mtime))) < settled
	n, err := f.ReadAt(content, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if young && err == io.EOF {
		again := make([]byte, size+1)
		m, err := f.ReadAt(again, 0)
		if err != io.EOF || !bytes.Equal(again[:m], content[:n]) {
			return nil, errReplaced
		}
	}
	now, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case int64(n) != size || entryOf(now) != entryOf(info):
		return nil, errReplaced
	}
	return content[:n:n], nil
}
