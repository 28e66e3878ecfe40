package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agent/tools/ofd"
)

// ErrBusy says that a backup is being made, or files are being removed.
var ErrBusy = errors.New("a backup is made of the state folder, or old runs are removed from it; try again when that is done")

// LockFiles keeps the files beside the database where they are: several backups may be made at
// once, and whoever removes files is alone.
func LockFiles(dir string, alone bool) (*ofd.File, error) {
	locks := filepath.Join(dir, "locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("lock the files of %s: %w", dir, err)
	}
	f, err := ofd.Open(filepath.Join(locks, "files"))
	if err != nil {
		return nil, fmt.Errorf("lock the files of %s: %w", dir, err)
	}
	take := f.TryLockShared
	if alone {
		take = f.TryLock
	}
	ok, err := take()
	if err == nil && !ok {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the files of %s: %w", dir, err), f.Close())
	}
	return f, nil
}
