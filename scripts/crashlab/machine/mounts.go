//go:build linux

package machine

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// envMounts tells the lab, which has replaced itself, that it has a mount namespace of its own.
const envMounts = "CRASHLAB_OWN_MOUNTS"

// OwnMounts puts the whole process into a mount namespace of its own: what is mounted there is seen
// by the lab and by what it starts, and is gone with them. It replaces the process by itself, since
// only a single thread can change its namespace: a thread that calls execve(2) takes the process
// over with the namespace that it has. It returns why that cannot be done, or nil once it is.
func OwnMounts() error {
	if os.Getenv(envMounts) == "1" {
		return os.Unsetenv(envMounts)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the lab's own binary: %v", err)
	}
	runtime.LockOSThread() // and for good: a thread that shares no mounts with the others is of no use to them
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("take a mount namespace: %v", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("take a mount namespace: %v", err)
	}
	return fmt.Errorf("start anew in a mount namespace: %v", syscall.Exec(exe, os.Args, append(os.Environ(), envMounts+"=1")))
}
