//go:build !linux

package app

import "os/exec"

// runAlone runs a command. Its context's end ends the command itself; what it started is not looked
// for here.
func runAlone(c *exec.Cmd) error { return c.Run() }
