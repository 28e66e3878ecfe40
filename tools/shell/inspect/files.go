package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"agent/tools/files"
)

// windowLength is how long after the start of its runner a command of this kind may have acted.
// What happened later is not taken for its doing. It is short, since what cannot be told apart is
// somebody else who does the very same in it: the same folder with the same owner and mode, the
// same file removed and nothing else touched beside it.
const windowLength = 2 * time.Second

// maxTree bounds the entries of a folder that are looked at before rm -r.
const maxTree = 5000

// stamp is what tells a file from another one, and when it was touched. Times are nanoseconds
// since 1970.
type stamp struct {
	Inode  uint64 `json:"inode,omitempty"` // 0: nothing is there
	Device uint64 `json:"device,omitempty"`
	Kind   uint32 `json:"kind,omitempty"` // S_IFMT bits
	Mode   uint32 `json:"mode,omitempty"` // permission bits
	Size   int64  `json:"size,omitempty"`
	UID    int    `json:"uid,omitempty"`
	Mtime  int64  `json:"mtime,omitempty"`
	Ctime  int64  `json:"ctime,omitempty"`
	Atime  int64  `json:"atime,omitempty"`
	Btime  int64  `json:"btime,omitempty"` // 0 where the file system keeps none
}

func (s stamp) there() bool { return s.Inode != 0 }

// same says whether it is the same file; untouched, that nothing was done to it or, for a folder,
// to what it lists. A number that is free again is given to the next file: only the time at which
// that was made tells it from the one before.
func (s stamp) same(o stamp) bool {
	return s.Inode == o.Inode && s.Device == o.Device && s.Kind == o.Kind && s.Btime == o.Btime
}
func (s stamp) untouched(o stamp) bool {
	return s.same(o) && s.Ctime == o.Ctime && s.Mtime == o.Mtime && s.Size == o.Size && s.Mode == o.Mode
}

// place is one path that a command is about, with the folder that holds it.
type place struct {
	Dir   string `json:"dir"` // in the workspace, symlinks followed
	Name  string `json:"name"`
	DirIs stamp  `json:"dir_is"`
	Is    stamp  `json:"is"`
	Tree  string `json:"tree,omitempty"`  // digest of all below, before rm -r
	Chain string `json:"chain,omitempty"` // of mkdir -p: folders below Name that are missing too
}

func (p place) path() string { return path.Join(p.Dir, p.Name) }

// window is the time in which a command may have acted.
type window struct{ from, to int64 }

func (w window) holds(t int64) bool { return t >= w.from && t <= w.to }

// placeOf looks at the place of an operand. A symlink as the last name is not followed: these
// commands act on the name.
func placeOf(w *files.Workspace, operand string) (place, error) {
	dir, name := path.Split(path.Clean(operand))
	if dir == "" {
		dir = "."
	}
	s, err := w.Find(dir)
	if err != nil {
		return place{}, err
	}
	defer s.Close()
	if s.Info == nil || !s.Info.IsDir() {
		return place{}, fmt.Errorf("%s is no folder that is there", dir)
	}
	root := s.Dir
	if s.Name != "." {
		if root, err = files.Enter(s.Dir, s.Name, s.Info); err != nil {
			return place{}, err
		}
		defer root.Close() // it was only looked through
	}
	p := place{Dir: s.Rel, Name: name}
	if p.DirIs, err = stampOf(root, "."); err == nil {
		p.Is, err = stampOf(root, name)
	}
	if err == nil && p.Is.folder() {
		var info os.FileInfo
		if info, err = root.Lstat(name); err == nil && w.Denies(path.Join(w.Real, p.path()), info) {
			err = fmt.Errorf("%s leads into the state folder", operand)
		}
	}
	return p, err
}

// placeAgain looks at a place a second time.
func placeAgain(w *files.Workspace, p place) (place, error) {
	now, err := placeOf(w, p.path())
	switch {
	case err != nil:
		return now, err
	case now.Dir != p.Dir || !now.DirIs.same(p.DirIs):
		return now, fmt.Errorf("the folder %s was replaced", p.Dir)
	}
	return now, nil
}

var errTooMany = errors.New("it holds too much to look at")

// treeDigest digests everything below a folder: each name with its inode and ctime.
func treeDigest(w *files.Workspace, p place) (string, error) {
	h, n := sha256.New(), 0
	s, err := w.Find(p.path())
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.Rel != p.path() || s.Info == nil || !s.Info.IsDir() {
		return "", fmt.Errorf("%s is no folder", p.path())
	}
	root, err := files.Enter(s.Dir, s.Name, s.Info)
	if err != nil {
		return "", err
	}
	defer root.Close() // it was only looked through
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n++; n > maxTree {
			return errTooMany
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		id := files.IDOf(info)
		fmt.Fprintf(h, "%q %d %d\n", name, id.Inode, id.Ctime) // a hash takes every write
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
