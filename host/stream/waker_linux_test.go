package stream

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A database file that is opened and closed in this process loses the locks that the process has on
// it. So the waker must not touch the files: the kernel is asked who opened or read them.
func TestWakerNeverOpensTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db-wal")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	ok(t, err)
	defer file.Close()
	spy, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	ok(t, err)
	defer unix.Close(spy)
	_, err = unix.InotifyAddWatch(spy, path, unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CLOSE)
	ok(t, err)
	touched := func() bool {
		n, err := unix.Read(spy, make([]byte, 4096))
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		return n > 0
	}

	w, err := NewWakerEvery(time.Millisecond, path)
	ok(t, err)
	if err := w.Notice(); err != nil {
		t.Fatalf("it only polls: %v", err)
	}
	for range 10 {
		_, err := file.WriteString("x")
		ok(t, err)
		wakes(t, w)
	}
	w.Close()
	if touched() {
		t.Fatal("the waker opened, read or closed the file")
	}
	_, err = os.ReadFile(path)
	ok(t, err)
	if !touched() {
		t.Fatal("the control failed: a file that was opened and read was not noticed")
	}
}
