package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// action is what the kernel does at a signal (struct sigaction of sigaction(2)); the zero action is the signal's default.
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// shrugOff has this process, the first of its pid namespace, survive the signals that would end it: what is sent to the group is
// meant for the command. The kernel drops a signal to such a process for which it has no handler, but for SIGKILL and SIGSTOP from
// outside (pid_namespaces(7)). So Go's handlers are taken away where Go ends the process; all others of Go's do nothing.
//
// Catching them with os/signal would take two changes of the thread for each signal, and ignoring them would leave them ignored in
// the command.
func shrugOff() error {
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGTERM} {
		var initial action
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&initial)), 0,
			unsafe.Sizeof(initial.mask), 0, 0)
		if errno != 0 {
			return errno
		}
	}
	return nil
}
