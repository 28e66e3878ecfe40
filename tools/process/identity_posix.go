//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// there says whether a process has the number: the one that is meant, or a later one.
func there(pid int) bool {
	return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) // signal 0 only asks
}

// Alive says whether the named process may still run on this machine. Where the system gives no
// start time, another one may have its number by now: only that it is gone is known for sure.
func (i Identity) Alive() bool {
	return i.Boot == Boot() && there(i.PID) && i.Start == startTime(i.PID)
}

// Stopped says whether the process was stopped (SIGSTOP): it is not known here.
func (i Identity) Stopped() bool { return false }

// Ending says whether the named process of this boot has ended; that it was killed and is about to
// is not known here.
func (i Identity) Ending() bool { return i.PID > 0 && i.Boot == Boot() && !i.Alive() }

// Signal asks the named process to end (SIGTERM), or with kill ends it (SIGKILL). Nothing here
// holds a process while it is looked at, so holds must prove that the process lives: that a lock is
// held which the process alone can hold. It is asked last, right before the signal.
func (i Identity) Signal(kill bool, holds func() (bool, error)) error {
	if !i.Alive() {
		return nil // it is gone, or the number belongs to somebody else now
	}
	ok, err := holds()
	if err != nil {
		return fmt.Errorf("signal %s: %w", i, err)
	}
	if !ok {
		return nil // it let go meanwhile
	}
	sig := unix.SIGTERM
	if kill {
		sig = unix.SIGKILL
	}
	if err := unix.Kill(i.PID, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %s: %w", i, err)
	}
	return nil
}
