package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// held reports whether a process drives a run: it holds the lock of the run in the state folder.
// The kernel lets it go when that process ends. Looking takes no lock.
func (a Agent) held(run string) (bool, error) {
	f, err := os.Open(filepath.Join(a.Home, "locks", run))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lock of run %s: %w", run, err)
	}
	defer f.Close() // nothing was written
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, fmt.Errorf("look at the lock of run %s: %w", run, err)
	}
	return lock.Type != unix.F_UNLCK, nil
}
