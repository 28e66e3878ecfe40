package sqlitefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Disk is what lies under a state folder.
type Disk struct {
	Name     string // of the file system; "" where it is not known
	Unsafe   bool   // neither locks nor fsync can be relied on
	Volatile bool   // it is empty after a restart of the machine
	Free     int64  // bytes that an ordinary user may still write; -1 where it is not known
	Files    int64  // that may still be made; -1 where that has no limit or is not known
}

// DiskOf looks at the file system of a folder, or of the parent that it will get.
func DiskOf(dir string) (Disk, error) {
	at := dir
	for at != filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
			break
		}
		at = filepath.Dir(at)
	}
	d := Disk{Name: fileSystemName(at), Free: -1, Files: freeFiles(at)}
	d.Volatile = d.Name == "tmpfs"
	if free, err := freeBytes(at); err == nil {
		d.Free = free
	}
	err := checkFileSystem(at)
	var refused *FolderError
	if errors.As(err, &refused) {
		d.Unsafe, err = true, nil
	}
	return d, err
}
