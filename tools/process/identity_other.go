//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package process

import (
	"errors"
	"fmt"
)

// BootID is Boot for who has to know that there is one.
func BootID() (string, error) { return "", errors.New("the name of this boot is not known here") }

func startTime(int) string { return "" }

// Alive is not known here: a process may live.
func (i Identity) Alive() bool { return i.PID > 0 }

// Stopped is not known here.
func (i Identity) Stopped() bool { return false }

// Ending is not known here.
func (i Identity) Ending() bool { return false }

// Signal cannot be trusted here to meet the right process.
func (i Identity) Signal(bool, func() (bool, error)) error {
	return fmt.Errorf("end %s yourself: this system cannot tell a process from a later one with its number", i)
}
