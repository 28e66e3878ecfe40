//go:build !unix

package mcp

import (
	"os"
	"syscall"
)

// ownGroup is for systems that know no groups: where the host is killed, the server ends when its
// input does.
func ownGroup() *syscall.SysProcAttr { return nil }

func untilDead(int) bool { return false }

// killGroup ends the server itself. One that is gone needs no end.
func killGroup(pid int, s syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil && s == syscall.SIGKILL {
		_ = p.Kill() // as above
	}
}
