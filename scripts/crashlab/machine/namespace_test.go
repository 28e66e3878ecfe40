//go:build linux

package machine

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A command with a view sees another boot and another folder; nobody else does.
func TestStage(t *testing.T) {
	if err := NeedsBoot(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	real, shown, boot := filepath.Join(dir, "real"), filepath.Join(dir, "shown"), filepath.Join(dir, "boot")
	for _, d := range []string{real, shown} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(bootID)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewBoot(boot, 0x1234500000007); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := exec.Command("sh", "-ec", "pwd; cat "+bootID+"; echo here > file")
	c.Stdout, c.Stderr = &out, &out
	if err := (View{Boot: boot, Binds: map[string]string{shown: real}, Dir: shown}).Start(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if want := shown + "\n00012345-b007-4b00-8b00-000000000007\n"; out.String() != want {
		t.Errorf("it saw %q, want %q", out.String(), want)
	}
	if b, err := os.ReadFile(filepath.Join(real, "file")); err != nil || string(b) != "here\n" {
		t.Errorf("it wrote %q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(shown, "file")); err == nil {
		t.Errorf("it is mounted for others too: %q", b)
	}
	if b, err := os.ReadFile(bootID); err != nil || !bytes.Equal(b, before) {
		t.Errorf("the boot id of all is %q, %v", b, err)
	}
}

// The lab sees its own mounts afterwards: in /proc its main thread stands for it.
func TestViewLeavesTheLabAlone(t *testing.T) {
	if err := NeedsBoot(); err != nil {
		t.Skip(err)
	}
	before, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		c := exec.Command("true")
		if err := (View{}).Start(c); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.Readlink("/proc/self/ns/mnt"); err != nil || after != before {
		t.Errorf("the lab's mounts were %s and are %s: %v", before, after, err)
	}
}
