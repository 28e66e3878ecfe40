//go:build !portable

package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Signal asks the named process to end (SIGTERM), or with kill ends it (SIGKILL): the descriptor is
// taken first, then boot, number and start time are compared, so a reused number is never hit.
// Other systems need the proof that the process holds a lock.
func (i Identity) Signal(kill bool, _ func() (bool, error)) error {
	fd, err := unix.PidfdOpen(i.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // it is gone
	}
	if err != nil {
		return fmt.Errorf("find %s: %v", i, err)
	}
	defer unix.Close(fd)
	if !i.Alive() {
		return nil // the number belongs to somebody else now
	}
	sig := unix.SIGTERM
	if kill {
		sig = unix.SIGKILL
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %s: %v", i, err)
	}
	return nil
}
