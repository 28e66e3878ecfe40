//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package ofd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock uses flock, which belongs to the open file too; what is missing here is looking without
// taking.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = unix.Flock(int(fd), how) }); err != nil {
		return false, err
	}
	if errors.Is(inner, unix.EWOULDBLOCK) {
		return false, nil
	}
	return inner == nil, inner
}

func held(*os.File) (bool, error) { return false, ErrLookUnsupported }
