//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// bootID is where the kernel says which start of the machine this is.
const bootID = "/proc/sys/kernel/random/boot_id"

// View is how the machine looks to one command: which start of it, and what stands where.
type View struct {
	Boot  string            // the file that stands for the boot id; "" for the real one
	Binds map[string]string // what is seen, by where; both exist
	Dir   string            // in which the command runs, as it sees it; "" for the one that it has
}

// Start starts a command in a mount namespace of its own, which ends with the last process in it.
// What it starts finds the same. It fits World.Launch.
func (s View) Start(c *exec.Cmd) error {
	started := make(chan error)
	go func() {
		// And for good: a child gets the namespace of the thread that made it, and no other thread
		// may.
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread does not end with what is locked to it, and in /proc the process has
			// its mounts. Held here, it leaves the work to another thread.
			started <- s.Start(c)
			runtime.UnlockOSThread()
			return
		}
		started <- s.startHere(c)
	}()
	return <-started
}

// startHere changes the thread that it runs on.
func (s View) startHere(c *exec.Cmd) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("take a mount namespace: %w", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("take a mount namespace: %w", err)
	}
	for to, from := range s.Binds {
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show %s as %s: %w", from, to, err)
		}
	}
	if s.Boot != "" {
		if err := unix.Mount(s.Boot, bootID, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show %s as the boot id: %w", s.Boot, err)
		}
	}
	if s.Dir != "" {
		c.Dir = s.Dir
	}
	return c.Start()
}

// NewBoot writes a file that stands for the boot id of another start of the machine: another
// number, another start.
func NewBoot(path string, number uint64) error {
	if err := os.WriteFile(path, fmt.Appendf(nil, "%08x-b007-4b00-8b00-%012x\n", uint32(number>>32), uint32(number)), 0o444); err != nil {
		return fmt.Errorf("make up a boot id: %v", err)
	}
	return nil
}

// NeedsBoot says why no other start of the machine can be made up here.
func NeedsBoot() error {
	dir, err := os.MkdirTemp("", "crashlab-boot-")
	if err != nil {
		return err
	}
	boot := filepath.Join(dir, "boot")
	if err = NewBoot(boot, 1); err == nil {
		c := exec.Command("cat", bootID)
		var want []byte
		if want, err = os.ReadFile(boot); err == nil {
			err = showsBoot(c, boot, string(want))
		}
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func showsBoot(c *exec.Cmd, boot, want string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close() // it was only read
	c.Stdout = write
	err = errors.Join(View{Boot: boot}.Start(c), write.Close())
	if err != nil {
		return err
	}
	text := make([]byte, len(want))
	n, err := read.Read(text)
	if err := errors.Join(err, c.Wait()); err != nil {
		return fmt.Errorf("read the boot id that was made up: %w", err)
	}
	if string(text[:n]) != want {
		return fmt.Errorf("a file mounted over %s reads %q", bootID, text[:n])
	}
	return nil
}
