//go:build !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// Probe finds nothing: only Linux has what is used here.
func Probe(string) Support {
	return Support{Missing: []string{"commands are confined on Linux only"}}
}

// Wrap leaves cmd as it is.
func (p Profile) Wrap(*exec.Cmd, string) error { return p.check() }

// Report is never made here.
type Report struct{}

// WrapReported leaves cmd as it is.
func (p Profile) WrapReported(*exec.Cmd, string) (*Report, error) { return nil, p.check() }

// Abort gives the report up.
func (*Report) Abort() {}

// Started is never called here.
func (*Report) Started() (bool, error) { return true, nil }

// Ended is never called here.
func (*Report) Ended() (status syscall.WaitStatus, ok bool) { return status, false }

// Main has nothing to do here.
func Main([]string) int { return 2 }

// MainInInit has nothing to do here.
func MainInInit([]string) int { return 2 }
