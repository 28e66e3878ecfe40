package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// InForeground says whether this process may read from the terminal: one in the background would be
// stopped by that.
func InForeground(f *os.File) bool {
	in := false
	OnTerminal(f, func(fd int) {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		in = err == nil && group == unix.Getpgrp()
	})
	return in
}

// DiscardInput drops what was typed and not read: it was not meant for the question, or not
// finished.
func DiscardInput(f *os.File) {
	OnTerminal(f, func(fd int) {
		_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // no terminal, nothing typed
	})
}

// OnTerminal calls do with the descriptor, and leaves it as it is for deadlines, which File.Fd does
// not.
func OnTerminal(f *os.File, do func(fd int)) {
	c, err := f.SyscallConn()
	if err == nil {
		_ = c.Control(func(fd uintptr) { do(int(fd)) }) // a closed file: do was not called
	}
}

// HideInput has the terminal not show what is typed, until shown is called.
func HideInput(f *os.File) (shown func(), err error) {
	OnTerminal(f, func(fd int) {
		var was *unix.Termios
		if was, err = unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			return
		}
		hidden := *was
		hidden.Lflag &^= unix.ECHO
		err = unix.IoctlSetTermios(fd, unix.TCSETS, &hidden)
		shown = func() {
			OnTerminal(f, func(fd int) { _ = unix.IoctlSetTermios(fd, unix.TCSETS, was) }) // one that is gone shows nothing
		}
	})
	return shown, err
}
