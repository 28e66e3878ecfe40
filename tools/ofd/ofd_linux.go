//go:build !portable

package ofd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func tryLock(f *os.File, exclusive bool) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_RDLCK}
	if exclusive {
		lock.Type = unix.F_WRLCK
	}
	err := fcntl(f, unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// held asks which lock would stand in the way of an exclusive one; F_UNLCK in the answer means
// none.
func held(f *os.File) (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := fcntl(f, unix.F_OFD_GETLK, &lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}

func fcntl(f *os.File, command int, lock *unix.Flock_t) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		for {
			inner = unix.FcntlFlock(fd, command, lock)
			if !errors.Is(inner, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return inner
}
