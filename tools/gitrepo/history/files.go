package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/tools/gitrepo/objects"
)

func isNotFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// entries lists a folder by name, at most so many.
func entries(dir string, limit int) (list []fs.DirEntry, more bool, err error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	return listed(f, limit)
}

func openFolder(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may be in its place
}

func listed(f *os.File, limit int) (list []fs.DirEntry, more bool, err error) {
	list, err = f.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(list) > limit {
		list, more = list[:limit], true
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, more, nil
}

// tree visits what lies below a folder, without what is behind links. cut says that a bound was
// reached.
type tree struct {
	left   int
	cut    string
	visit  func(name string, in *os.File, d fs.DirEntry) // name is seen from the repository, in is the folder
	looked *looked
}

func (t *tree) walk(dir, name string, depth int) error {
	if depth > maxDepth {
		t.cut = fmt.Sprintf("below %s it is more than %d folders deep", name, maxDepth)
		return nil
	}
	t.looked.at(dir)
	f, err := openFolder(dir)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // it was only read from; nothing can be lost
	list, more, err := listed(f, t.left)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	t.left -= len(list)
	if more {
		t.cut = fmt.Sprintf("below %s are more than %d entries", name, maxEntries)
	}
	for _, d := range list {
		at := name + "/" + d.Name()
		if !d.IsDir() {
			t.looked.in(f, d.Name())
			t.visit(at, f, d)
			continue
		}
		switch err := t.walk(filepath.Join(dir, d.Name()), at, depth+1); {
		case errors.Is(err, fs.ErrPermission):
			t.looked.doubt()
		case err != nil:
			return err
		}
	}
	return nil
}

// foundLog is a log as it lies there.
type foundLog struct {
	LogMark
	written time.Time
	more    string // what else counts
}

// statLog looks at a log. What is no regular file is an error.
func statLog(file string) (foundLog, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return foundLog{}, err
	}
	if !info.Mode().IsRegular() {
		return foundLog{}, fmt.Errorf("%s is no regular file", file)
	}
	return foundLog{LogMark: LogMark{Size: info.Size(), Inode: inodeOf(info)}, written: info.ModTime()}, nil
}

// branchLogs lists the logs of branches, by name. Reftables hold their logs themselves, and are
// marked as refs are.
func branchLogs(r objects.Repository, at *looked) (list []foundLog, cut string, err error) {
	if r.Reftable() {
		return nil, "", nil
	}
	t := tree{left: maxEntries, looked: at, visit: func(name string, in *os.File, d fs.DirEntry) {
		if strings.HasSuffix(name, ".lock") {
			return // no ref may end so; git removes it soon
		}
		l, err := statLogIn(in, d.Name())
		if absent(err) {
			return
		}
		if err != nil {
			l.Size = -1 // something else is there
		}
		l.Name = name
		list = append(list, l)
	}}
	err = t.walk(filepath.Join(r.Common, "logs", "refs", "heads"), "refs/heads", 0)
	return list, t.cut, err
}
