//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package ofd

import (
	"errors"
	"os"
)

func tryLock(*os.File, bool) (bool, error) {
	return false, errors.New("locks on open files are not available on this system")
}

func held(*os.File) (bool, error) { return false, ErrLookUnsupported }
