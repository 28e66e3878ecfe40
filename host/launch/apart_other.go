//go:build !unix

package launch

import "syscall"

// apart has nothing to set here.
func apart() *syscall.SysProcAttr { return nil }

func closeOnExec(int) {} // nothing is handed on that was not named

func letGo() {}
