//go:build !linux

package tools

import (
	"io/fs"
	"os"
	"runtime"
)

// fileID is empty here, so that a look after a crash finds an untouched file unclear rather than untouched.
type fileID struct {
	Inode uint64
	Ctime int64 // nanoseconds
	Links uint64
	UID   int
	GID   int
}

func idOf(fs.FileInfo) fileID { return fileID{} }

func admissible(*os.Root) error { return nil }

// syncOpened syncs where a folder can be synced; Windows knows no such thing and keeps its names in a log of its own.
func syncOpened(folder *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return folder.Sync()
}
