//go:build unix

package input

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waitReady waits until a read of r returns at once: with data, or with the end. ErrQuiet where the
// patience is over.
func waitReady(r io.Reader, patience time.Duration) error {
	f, ok := r.(*os.File)
	if !ok {
		return nil
	}
	end := time.Now().Add(patience)
	for {
		left := max(0, time.Until(end))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, int(left.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR) && left > 0:
			continue
		case err != nil:
			return os.NewSyscallError("poll", err)
		case n == 0:
			return ErrQuiet
		}
		return nil
	}
}
