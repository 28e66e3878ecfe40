package runner

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// buryOrphans takes away the zombies of processes that the command left to this one, and never the
// command itself. It looks at children alone: a machine may have thousands of processes, and every
// call ends with a death.
func (c *command) buryOrphans() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	mine, gone := c.cmd.Process.Pid, c.gone
	for {
		for pid := deadChild(); pid > 0 && pid != mine; pid = deadChild() {
			if n, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); n != pid || err != nil {
				break // zombies only take up room
			}
		}
		// While the command's own zombie stands it may hide others, which only wait a little
		// longer.
		select {
		case <-ended:
		case <-gone:
			mine, gone = 0, nil
		}
	}
}

// deadChild is the pid of a child that waits to be reaped; 0 if there is none.
func deadChild() int {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) // never waits
	if err != nil || info.Signo == 0 {
		return 0
	}
	// siginfo_t of the kernel (asm-generic/siginfo.h): after three numbers comes a union, aligned
	// as a pointer is, and for the end of a child it begins with the pid.
	const align = unsafe.Sizeof(uintptr(0))
	const at = (unsafe.Sizeof([3]int32{}) + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
}
