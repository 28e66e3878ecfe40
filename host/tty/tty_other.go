//go:build !linux

package tty

import (
	"errors"
	"os"
)

// InForeground is not looked at here: a process in the background is stopped when it asks, and goes
// on in the foreground.
func InForeground(*os.File) bool { return true }

// DiscardInput does nothing here: what was typed before a question is taken as its answer.
func DiscardInput(*os.File) {}

// SingleKeys cannot be done here.
func SingleKeys(*os.File) (restore func(), err error) {
	return nil, errors.New("this is not possible on this system")
}

// HideInput cannot be done here.
func HideInput(*os.File) (shown func(), err error) {
	return nil, errors.New("this is not possible on this system")
}
