package tools

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// S12: regular files only, and never a wait for somebody at the other end of a fifo.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t)
	if err := unix.Mkfifo(b.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: b.path("socket")}); err != nil {
		t.Fatal(err)
	}
	b.link("pipe", "to-pipe")
	for _, path := range []string{"pipe", "to-pipe"} {
		contains(t, b.refused("read_file", args{"path": path}), "not a regular file (fifo)")
		contains(t, b.refused("write_file", args{"path": path, "content": "x"}), "not a regular file (fifo)")
		contains(t, b.refused("edit_file", args{"path": path, "old": "x", "new": "y"}), "not a regular file (fifo)")
		contains(t, b.refused("search", args{"path": path, "pattern": "x"}), "not a regular file (fifo)")
	}
	contains(t, b.refused("read_file", args{"path": "socket"}), "not a regular file (socket)")
	contains(t, b.must("list_dir", args{}), "pipe (fifo)\n", "socket (socket)\n", "to-pipe -> pipe\n")
	b.must("search", args{"pattern": "x"})

	// A fifo in the place of a file that was looked at: opened without waiting, and refused.
	b.write("file", "x")
	w, err := openWorkspace(b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	s, err := w.find("file")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := os.Rename(b.path("pipe"), b.path("file")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.open(); err == nil {
		t.Error("a fifo was opened in the place of a file")
	}
}

// With the root folder as workspace, devices and processes are in reach by name.
func TestRootAsWorkspace(t *testing.T) {
	b := newBench(t)
	state := b.state
	b.dir = "/"
	for path, why := range map[string]string{
		"/dev/null": "device", "dev/zero": "device", "/proc/self/mem": "processes", "/proc/self/environ": "processes",
		state: "state folder", state + "/calls": "state folder",
	} {
		contains(t, b.refused("read_file", args{"path": path}), why)
	}
	b.dir = "/proc/self"
	contains(t, b.refused("read_file", args{"path": "environ"}), "processes")
}

// S12: a folder that is exchanged for a way out again and again never leads out.
func TestSymlinkSwapRace(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.dir), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write("a/file", "fine")
	b.link(outside, "b")
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, b.path("a"), unix.AT_FDCWD, b.path("b"), unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swap: %v", err)
				return
			}
		}
	})
	inside := 0
	for range 3000 {
		r, err := b.run("read_file", args{"path": "a/file"})
		if err == nil && r.Content != "fine" {
			t.Fatalf("read %q", r.Content)
		}
		if err == nil {
			inside++
		}
		if _, err := b.run("write_file", args{"path": "a/file", "content": "fine"}); err == nil {
			inside++
		}
	}
	close(done)
	swapper.Wait()
	if got, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(got) != "hush" {
		t.Errorf("what lies outside was written: %q, %v", got, err)
	}
	if inside == 0 {
		t.Error("the folder was never seen inside: the race did not take place")
	}
}
