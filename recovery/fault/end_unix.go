//go:build unix

package fault

import (
	"os"
	"os/signal"
	"syscall"
)

// end ends the process at once, or stops it here until it is continued. A signal to oneself that
// cannot be caught does not fail.
func end(action string) {
	if action != "stop" {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL) // nothing is left to do if the kernel refuses: the test sees a process that lives
		select {}
	}
	// The kernel may hand the signal to another thread first, and this one would run on for a
	// while.
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // as above
	<-goOn
	signal.Stop(goOn)
}
