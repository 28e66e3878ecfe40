//go:build unix

package hook

import (
	"os/exec"
	"syscall"
)

// apart has a command run in a session and process group of its own: no terminal is its, and what
// ends it ends what it started too.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// endGroup ends what a command has left behind in its group.
func endGroup(c *exec.Cmd) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // else it has ended meanwhile
}
