//go:build !linux

package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// KeepsModes says whether the file system knows of modes for others.
const KeepsModes = runtime.GOOS != "windows"

// checkFileSystem cannot tell file systems apart here; doctor says so.
func checkFileSystem(string) error { return nil }

// fileSystemName cannot tell here.
func fileSystemName(string) string { return "" }

// checkOwner refuses a folder in which others may write. Who owns it is not looked at here.
func checkOwner(dir string, info fs.FileInfo) error {
	if KeepsModes && info.Mode().Perm()&0o022 != 0 {
		return &FolderError{Dir: dir, What: fmt.Sprintf("others may write in it (mode %#o)", info.Mode().Perm()),
			Remedy: "run chmod 700 " + dir}
	}
	return nil
}

// writable tries: there is no question that answers it here.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".agent-try-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

func freeBytes(dir string) (int64, error) {
	return 0, fmt.Errorf("find free space of %s: not known on %s", dir, runtime.GOOS)
}

func freeFiles(string) int64 { return -1 }

// names says whether path leads to the file that want describes.
func names(path string, want fs.FileInfo) (bool, error) {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, want), err
}
