//go:build unix

package launch

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart has the driver outlive the terminal and the session of whoever starts it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// letGo closes the descriptors that this process was started with beside its own. What it has
// opened itself is closed on exec.
func letGo() {
	open, _ := os.ReadDir("/dev/fd") // where there is none, they stay
	for _, f := range open {
		fd, err := strconv.Atoi(f.Name())
		if err != nil || fd <= answerAt {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // it was never used
		}
	}
}
