//go:build unix && !solaris && !aix

package config

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open folder until it is closed, and says whether it could.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
