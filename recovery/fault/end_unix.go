//go:build unix

package fault

import "syscall"

// end stops the process at once. A signal to oneself that cannot be caught does not fail.
func end(action string) {
	sig := syscall.SIGKILL
	if action == "stop" {
		sig = syscall.SIGSTOP
	}
	_ = syscall.Kill(syscall.Getpid(), sig) // nothing is left to do if the kernel refuses: the test sees a process that lives
	if action == "kill" {
		select {}
	}
}
