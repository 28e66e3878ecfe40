// Package sigaction tells the kernel what to do at a signal, behind the back of Go's runtime.
//
// To catch a signal with os/signal takes two changes of the thread, which is much for a process
// that lives for some milliseconds; and what os/signal ignores stays ignored in the commands that
// are started. What is set here does not: before a child becomes another program, the runtime sets
// every signal that it had a handler for back to its default.
package sigaction

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Handlers of the kernel's own (signal(2)).
const (
	initial = 0 // SIG_DFL
	ignored = 1 // SIG_IGN
)

// action is what the kernel does at a signal (struct sigaction of sigaction(2)).
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// Default gives signals back to the kernel, which does with them what it does without any handler.
func Default(signals ...unix.Signal) error { return set(initial, signals) }

// Ignore has the kernel drop signals. They must be some that Go's runtime had a handler for:
// another would stay ignored in children.
func Ignore(signals ...unix.Signal) error { return set(ignored, signals) }

func set(handler uintptr, signals []unix.Signal) error {
	for _, sig := range signals {
		a := action{handler: handler}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, unsafe.Sizeof(a.mask), 0, 0)
		if errno != 0 {
			return os.NewSyscallError(fmt.Sprintf("sigaction %s", unix.SignalName(sig)), errno)
		}
	}
	return nil
}
