package app

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/host/tty"
)

// runAlone runs a command in a process group of its own, so that its context's end ends whatever it
// started too. A command that asks a person for a password reads from the terminal, which only the
// group in the foreground may: it is lent the foreground.
func runAlone(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	term, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return c.Run() // without a terminal nobody is asked
	}
	defer func() {
		_ = term.Close() // nothing was written
	}()
	if !tty.InForeground(term) || signal.Ignored(syscall.SIGTTOU) {
		return c.Run()
	}
	tty.OnTerminal(term, func(fd int) {
		c.SysProcAttr.Foreground, c.SysProcAttr.Ctty = true, fd
		err = c.Run()
		// Taking it back comes from the background, where SIGTTOU would stop this process.
		signal.Ignore(syscall.SIGTTOU)
		defer signal.Reset(syscall.SIGTTOU)
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp()) // a terminal that is gone needs no owner
	})
	return err
}
