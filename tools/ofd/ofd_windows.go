package ofd

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockByte lies far behind any text that Describe writes: a locked range cannot be read by others
// here.
const lockByte = 0x7fff0000

func tryLock(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		inner = windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, &windows.Overlapped{Offset: lockByte})
	})
	if err != nil {
		return false, err
	}
	if errors.Is(inner, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return inner == nil, inner
}

func held(*os.File) (bool, error) { return false, ErrLookUnsupported }
