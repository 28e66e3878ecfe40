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
