//go:build unix && !linux

package mcp

import "syscall"

// ownGroup has a server lead a group of its own. Where the host is killed, the server ends when its
// input does.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func untilDead(int) bool { return false }

// killGroup signals a group. One that is gone needs none.
func killGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }
