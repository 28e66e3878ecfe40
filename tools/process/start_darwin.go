package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// BootID is Boot for who has to know that there is one.
func BootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// startTime is empty for a process that is gone.
func startTime(pid int) string {
	at, err := Started(pid)
	if err != nil {
		return ""
	}
	return fmt.Sprint(at)
}

// Started is when a process started, microseconds by the clock of that time.
func Started(pid int) (uint64, error) {
	const zombie = 5 // SZOMB of sys/proc.h
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	if int(p.Proc.P_pid) != pid || p.Proc.P_stat == zombie {
		return 0, errors.New("the process is gone")
	}
	return uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec), nil
}
