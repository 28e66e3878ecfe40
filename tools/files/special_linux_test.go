package files

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"agent/tools/toolstest"

	"golang.org/x/sys/unix"
)

// S12: regular files only, and never a wait for somebody at the other end of a fifo.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t)
	if err := unix.Mkfifo(b.Path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: b.Path("socket")}); err != nil {
		t.Fatal(err)
	}
	b.Link("pipe", "to-pipe")
	for _, path := range []string{"pipe", "to-pipe"} {
		toolstest.Contains(t, b.Refused("read_file", args{"path": path}), "not a regular file (fifo)")
		toolstest.Contains(t, b.Refused("write_file", args{"path": path, "content": "x"}), "not a regular file (fifo)")
		toolstest.Contains(t, b.Refused("edit_file", args{"path": path, "old": "x", "new": "y"}), "not a regular file (fifo)")
		toolstest.Contains(t, b.Refused("search", args{"path": path, "pattern": "x"}), "not a regular file (fifo)")
	}
	toolstest.Contains(t, b.Refused("read_file", args{"path": "socket"}), "not a regular file (socket)")
	toolstest.Contains(t, b.Must("list_dir", args{}), "pipe (fifo)\n", "socket (socket)\n", "to-pipe -> pipe\n")
	b.Must("search", args{"pattern": "x"})

	// A fifo in the place of a file that was looked at: opened without waiting, and refused.
	b.Write("file", "x")
	w, err := OpenWorkspace(b.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, err := w.Find("file")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Rename(b.Path("pipe"), b.Path("file")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(); err == nil {
		t.Error("a fifo was opened in the place of a file")
	}
}

// With the root folder as workspace, devices and processes are in reach by name.
func TestRootAsWorkspace(t *testing.T) {
	b := newBench(t)
	state := b.State
	b.Dir = "/"
	for path, why := range map[string]string{
		"/dev/null": "device", "dev/zero": "device", "/proc/self/mem": "processes", "/proc/self/environ": "processes",
		state: "state folder", state + "/calls": "state folder",
	} {
		toolstest.Contains(t, b.Refused("read_file", args{"path": path}), why)
	}
	b.Dir = "/proc/self"
	toolstest.Contains(t, b.Refused("read_file", args{"path": "environ"}), "processes")
}

// S12: a folder that is exchanged for a way out again and again never leads out.
func TestSymlinkSwapRace(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.Dir), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Write("a/file", "fine")
	b.Link(outside, "b")
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, b.Path("a"), unix.AT_FDCWD, b.Path("b"), unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swap: %v", err)
				return
			}
		}
	})
	inside := 0
	tries := 600
	if os.Getenv("AGENT_TESTS") == "whole" {
		tries = 3000
	}
	for range tries {
		r, err := b.Run("read_file", args{"path": "a/file"})
		if err == nil && r.Content != "fine" {
			t.Fatalf("read %q", r.Content)
		}
		if err == nil {
			inside++
		}
		if _, err := b.Run("write_file", args{"path": "a/file", "content": "fine"}); err == nil {
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
