package filesystem

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/recovery/journal"
)

// fake makes the system's folders for a device; write puts a file there.
func fake(t *testing.T, device, name string) (Roots, func(name, text string)) {
	t.Helper()
	at := Roots{Sys: t.TempDir(), Block: t.TempDir()}
	dir := filepath.Join(at.Sys, "fs", "ext4", name)
	for _, d := range []string{dir, filepath.Join(at.Sys, "dev", "block")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../devices/virtual/block/"+name, filepath.Join(at.Sys, "dev", "block", device)); err != nil {
		t.Fatal(err)
	}
	return at, func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What the kernel shows of an ext4 is read: its errors, the time of the last, what is mounted, and
// the time of the last check. // Issue 11, A8
func TestExt4(t *testing.T) {
	at, write := fake(t, "7:3", "loop3")
	write("errors_count", "2\n")
	write("last_error_time", "1795339769\n")
	block := make([]byte, 4096)
	binary.LittleEndian.PutUint16(block[1024+0x38:], 0xEF53)
	binary.LittleEndian.PutUint32(block[1024+0x40:], 1700000000)
	if err := os.WriteFile(filepath.Join(at.Block, "7:3"), block, 0o600); err != nil {
		t.Fatal(err)
	}
	var d journal.Disk
	readExt4(&d, "7:3", at)
	if !d.Counts || d.Errors != 2 || d.LastError != 1795339769 || d.Checked != 1700000000 || d.Mount == 0 {
		t.Errorf("%+v", d)
	}
	if err := os.WriteFile(filepath.Join(at.Block, "7:3"), bytes.Repeat([]byte{0}, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	d = journal.Disk{}
	readExt4(&d, "7:3", at)
	if d.Checked != 0 || !d.Counts {
		t.Errorf("of a device that holds something else: %+v", d)
	}
}

// What cannot be read is left out, and is no error.
func TestNothingToRead(t *testing.T) {
	var d journal.Disk
	readExt4(&d, "7:3", Roots{Sys: t.TempDir(), Block: t.TempDir()})
	at, write := fake(t, "7:3", "loop3")
	write("errors_count", "many\n")
	readExt4(&d, "7:3", at)
	if d.Counts || d.Checked != 0 {
		t.Errorf("%+v", d)
	}
	if got := Read(filepath.Join(t.TempDir(), "gone"), Roots{}); got != (journal.Disk{}) {
		t.Errorf("%+v", got)
	}
}

// A real ext4 that fails, is repaired and mounted again is another one in each of these states, and
// its count alone would not tell.
func TestFailedAndRepaired(t *testing.T) {
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v %s", err, out)
	}
	mount := func() error {
		out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", image, dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("mount needs root and a loop device: %v %s", err, out)
		}
		return nil
	}
	if err := mount(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	healthy := Read(dir, Roots{})
	if !healthy.Counts || healthy.Errors != 0 || healthy.Mount == 0 || healthy.ReadOnly {
		t.Skipf("this kernel shows nothing of its ext4: %+v", healthy)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	target, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev))))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("/sys/fs/ext4", filepath.Base(target), "trigger_fs_error"), []byte("1"), 0); err != nil {
		t.Skipf("an error cannot be triggered here: %v", err)
	}
	failed := Read(dir, Roots{})
	if failed.Errors == 0 || failed.LastError == 0 {
		t.Errorf("after an error: %+v", failed)
	}
	// A command that another test confined meanwhile took a copy of the mounts along: until it
	// ends, what is mounted is the failed disk.
	late, again := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	repaired := healthy
	for repaired.Mount == healthy.Mount {
		select {
		case <-late:
			t.Fatal("the failed disk is still in use")
		case <-again.C:
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
		_ = exec.Command("e2fsck", "-fy", image).Run() // its exit code says that it repaired something
		if err := mount(); err != nil {
			t.Fatal(err)
		}
		repaired = Read(dir, Roots{})
	}
	if repaired.Errors != 0 || repaired.Mount == healthy.Mount || repaired.ReadOnly {
		t.Errorf("after the repair: %+v, before the error %+v", repaired, healthy)
	}
}
