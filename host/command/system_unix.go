//go:build unix

package command

import (
	"fmt"
	"syscall"
)

// leastFiles is how many files a run may have open at once: the database, locks, a command and its
// output, connections.
const leastFiles = 64

// fits refuses to start where files would run out in the middle of something.
func fits() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Cur >= leastFiles {
		return nil // what cannot be known is tried
	}
	return fmt.Errorf("only %d files may be open at once, and %d are needed; raise the limit: ulimit -n 1024", l.Cur, leastFiles)
}
