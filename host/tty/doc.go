// Package tty is what the kernel knows of a terminal: how wide it is, who may read from it, and
// what was typed there.
package tty

import (
	"os"

	"golang.org/x/term"
)

// OnTerminal calls do with the descriptor, and leaves it as it is for deadlines, which File.Fd does
// not.
func OnTerminal(f *os.File, do func(fd int)) {
	c, err := f.SyscallConn()
	if err == nil {
		_ = c.Control(func(fd uintptr) { do(int(fd)) }) // a closed file: do was not called
	}
}

// Width is how many columns a terminal has; 0 where f is none, or does not say.
func Width(f *os.File) (width int) {
	OnTerminal(f, func(fd int) {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	})
	return width
}
