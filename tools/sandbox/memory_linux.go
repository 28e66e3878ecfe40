//go:build !portable

package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// MemoryFile makes a file that exists only in memory. Whoever inherits it can read it and not
// change it.
func MemoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(content, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// Whoever inherits it can read it and not change it.
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
