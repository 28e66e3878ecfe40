package owner_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"agent/host/owner"
	"agent/tools/process"
)

// A lock into which nothing can be written because the disk is full is refused with that reason,
// which decides the words that a person sees.
func TestLockOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size=64k"); err != nil {
		t.Skipf("mount needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	l := owner.Locks{Dir: filepath.Join(dir, "locks"), Self: process.Self()}
	if f, err := l.Take("r-1"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v %v", f, err)
	}
}
