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

// SingleKeys has the terminal give each key at once, and not show it, until restore is called. The
// keys that send a signal still do.
func SingleKeys(f *os.File) (restore func(), err error) {
	return without(f, unix.ECHO|unix.ICANON)
}

// HideInput has the terminal not show what is typed, until shown is called.
func HideInput(f *os.File) (shown func(), err error) { return without(f, unix.ECHO) }

// without turns modes of the terminal off, until restore is called.
func without(f *os.File, modes uint32) (restore func(), err error) {
	OnTerminal(f, func(fd int) {
		var was *unix.Termios
		if was, err = unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			return
		}
		now := *was
		now.Lflag &^= modes
		err = unix.IoctlSetTermios(fd, unix.TCSETS, &now)
		restore = func() {
			OnTerminal(f, func(fd int) { _ = unix.IoctlSetTermios(fd, unix.TCSETS, was) }) // one that is gone shows nothing
		}
	})
	return restore, err
}
