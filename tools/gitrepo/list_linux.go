package gitrepo

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/tools/dirent"
)

// entry is one name in a folder.
type entry struct {
	name string
	kind byte // DT_… of getdents64(2)
}

// list reads the names of a folder with as few system calls as it takes: a look may take a
// millisecond.
func (w *walk) list(dir string) ([]entry, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, err := unix.Open(w.path(dir), flags, 0)
	if info, serr := os.Lstat(w.path(dir)); err == unix.EACCES && serr == nil && info.IsDir() {
		// Who may enter a folder can use what is in it, whether or not it can be listed. What can
		// be allowed again is its owner's.
		if os.Chmod(w.path(dir), info.Mode().Perm()|0o500) == nil {
			fd, err = unix.Open(w.path(dir), flags, 0)
			defer os.Chmod(w.path(dir), info.Mode().Perm()) // it was as it was before: what fails leaves it open to its owner
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd) // it was only read from; nothing can be lost
	if w.buffer == nil {
		w.buffer = make([]byte, dirent.Buffer)
	}
	var list []entry
	err = dirent.Each(fd, w.buffer, func(name []byte, kind byte) { list = append(list, entry{string(name), kind}) })
	if err != nil {
		return list, &fs.PathError{Op: "read", Path: dir, Err: err}
	}
	return w.typed(dir, list), nil
}

// typed asks for the types that the file system did not tell.
func (w *walk) typed(dir string, list []entry) []entry {
	for i, e := range list {
		var st unix.Stat_t
		if e.kind == unix.DT_UNKNOWN && unix.Lstat(w.path(dir+"/"+e.name), &st) == nil {
			list[i].kind = byte(st.Mode & unix.S_IFMT >> 12)
		}
	}
	return list
}

func (e entry) folder() bool { return e.kind == unix.DT_DIR }

func (e entry) link() bool { return e.kind == unix.DT_LNK }

// hardLinked says whether a file has another name.
func hardLinked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}
