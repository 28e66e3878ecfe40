//go:build !linux || portable

package sandbox

import "syscall"

// Report is never made here.
type Report struct{}

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
