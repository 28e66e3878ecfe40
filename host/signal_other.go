//go:build !linux

package host

import "fmt"

func signalHolder(i Identity, _ bool) error {
	return fmt.Errorf("end %s yourself: this system cannot tell a process from a later one with its number", i)
}
