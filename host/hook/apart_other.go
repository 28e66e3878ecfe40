//go:build !unix

package hook

import "os/exec"

// apart has nothing to set here: a command is ended alone.
func apart(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}
