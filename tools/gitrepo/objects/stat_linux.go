package objects

import (
	"io/fs"
	"os"
	"syscall"
)

// deviceOf names the file system that a folder is on; 0 where that is not known.
func deviceOf(dir string) uint64 {
	info, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Dev) //nolint:unconvert // its type differs by system
}

// statOf is what Clean compares.
func statOf(info fs.FileInfo) (inode uint64, size, mtime, ctime int64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return 0, -1, 0, 0
	}
	return st.Ino, info.Size(), info.ModTime().UnixNano(), st.Ctim.Nano()
}
