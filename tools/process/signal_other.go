//go:build !linux

package process

import "fmt"

// Signal cannot be trusted here to meet the right process.
func (i Identity) Signal(bool) error {
	return fmt.Errorf("end %s yourself: this system cannot tell a process from a later one with its number", i)
}
