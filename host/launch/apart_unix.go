//go:build unix

package launch

import "syscall"

// apart has the driver outlive the terminal and the session of whoever starts it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }
