package mcp

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup has a server lead a group of its own and die with the thread that starts it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// untilDead waits until a child has ended and leaves it to be waited for. It reports false where
// that cannot be done.
func untilDead(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// killGroup signals a group. One that is gone needs none.
func killGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }
