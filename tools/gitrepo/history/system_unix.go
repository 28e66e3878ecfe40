//go:build unix

package history

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inodeOf is a file's inode, 0 where it is not known.
func inodeOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino) //nolint:unconvert // its type differs by system
	}
	return 0
}

// readSmallIn reads a file that was a regular one when its folder was listed, at most its first
// bytes. There may be hundreds, so it takes three calls of the system, none with a whole path.
// Nothing that took the file's place meanwhile is waited for, and no link is followed.
func readSmallIn(in *os.File, name string) ([]byte, error) {
	fd, err := unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) // it was only read from; nothing can be lost
	b := make([]byte, maxRef)
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return b[:max(n, 0)], err
		}
	}
}

// statLogIn is statLog in a folder.
func statLogIn(in *os.File, name string) (foundLog, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(in.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return foundLog{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return foundLog{}, fmt.Errorf("%s is no regular file", name)
	}
	return foundLog{LogMark: LogMark{Size: st.Size, Inode: uint64(st.Ino)}, written: time.Unix(st.Mtim.Unix())}, nil
}

// state is what a file's folder has of it. Whoever writes to a file, or to what it is of, changes
// the state of it: nobody can set the time of the last change (ctime).
type state struct {
	there   bool
	link    bool
	device  uint64
	inode   uint64
	mode    uint32
	size    int64
	wrote   int64
	changed int64 // in nanoseconds
}

const here = unix.AT_FDCWD

// stateOf looks at a file in a folder that is open, or at a whole path from here. ok is false
// where nobody can say whether it will be another one.
func stateOf(folder int, name string) (s state, ok bool) {
	var st unix.Stat_t
	switch err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case absent(err):
		return s, true
	case err != nil:
		return s, false
	}
	return state{
		there: true, link: st.Mode&unix.S_IFMT == unix.S_IFLNK, device: uint64(st.Dev), inode: uint64(st.Ino), mode: uint32(st.Mode), //nolint:unconvert // their types differ by system
		size: st.Size, wrote: st.Mtim.Nano(), changed: st.Ctim.Nano(),
	}, true
}

// folderOf opens a folder in which files are looked at.
func folderOf(path string) (folder int, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return fd, err == nil
}

func closeFolder(folder int) { unix.Close(folder) } // it was only looked into
