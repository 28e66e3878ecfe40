//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package ofd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock uses flock, which belongs to the open file too. On Linux these locks and the others do
// not see each other: a state folder is used by builds of one kind alone.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	err := flock(f, how)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// held takes the lock together with others who look, and lets it go at once. Who holds it shared
// does not show, and who claims it in this moment tries again (Claim). It is let go by name: a
// child on its way to another program may have a copy of the descriptor.
func held(f *os.File) (bool, error) {
	free, err := tryLock(f, false)
	if err != nil || !free {
		return err == nil, err
	}
	return false, flock(f, unix.LOCK_UN)
}

func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		for {
			inner = unix.Flock(int(fd), how)
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
