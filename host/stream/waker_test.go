package stream

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

const writeThis = "STREAM_TEST_WRITE" // names the file that this binary, started again, appends to

// TestWriteFromAnotherProcess is that other process; alone it does nothing.
func TestWriteFromAnotherProcess(t *testing.T) {
	path := os.Getenv(writeThis)
	if path == "" {
		t.Skip("runs only when another test starts it")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ok(t, err)
	_, err = file.WriteString("x")
	ok(t, errors.Join(err, file.Close()))
}

func writeElsewhere(t *testing.T, path string) {
	t.Helper()
	cmd := exec.CommandContext(deadline(t), os.Args[0], "-test.run=^TestWriteFromAnotherProcess$")
	cmd.Env = append(os.Environ(), writeThis+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the other process: %v\n%s", err, out)
	}
}

func wakes(t *testing.T, w *Waker) {
	t.Helper()
	select {
	case <-w.C():
	case <-deadline(t).Done():
		t.Fatal("nothing woke")
	}
}

// The poll is an hour here, so only notification can wake: on a file made, and on one written, by
// another process.
func TestWakerSeesAnotherProcess(t *testing.T) {
	db := filepath.Join(t.TempDir(), "agent.db-wal")
	w, err := NewWakerEvery(time.Hour, db, filepath.Join(t.TempDir(), "second"))
	ok(t, err)
	defer w.Close()
	if err := w.Notice(); err != nil {
		t.Skipf("no file notification here: %v", err)
	}
	for range 3 { // made, then written
		writeElsewhere(t, db)
		wakes(t, w)
	}
}

func TestWakerPassesOverOtherFiles(t *testing.T) {
	w := &Waker{names: map[string]bool{"/state/agent.db": true}, dirs: []string{"/state"}, hints: make(chan struct{}, 1)}
	for _, event := range []fsnotify.Event{
		{Name: "/state/agent.db-shm", Op: fsnotify.Write},
		{Name: "/state/live", Op: fsnotify.Remove},
		{Name: "/state", Op: fsnotify.Chmod},
	} {
		if err := w.happened(event, true); err != nil || len(w.C()) != 0 {
			t.Errorf("%v: %d hints, %v; want none", event, len(w.C()), err)
		}
	}
}

// Without notification the poll wakes, faster, and the reason can be read.
func TestWakerWithoutNotification(t *testing.T) {
	limit := errors.New("too many open files")
	none := func([]string) (*fsnotify.Watcher, error) { return nil, limit }
	w, err := newWaker(time.Hour, none, []string{filepath.Join(t.TempDir(), "db")}, false)
	ok(t, err)
	defer w.Close()
	if err := w.Notice(); !errors.Is(err, limit) {
		t.Fatalf("the notice is %v, want one about %v", err, limit)
	}
	wakes(t, w)
	wakes(t, w)
}

func TestWakerOfAMissingFolder(t *testing.T) {
	w, err := NewWakerEvery(time.Hour, filepath.Join(t.TempDir(), "missing", "db"))
	ok(t, err)
	defer w.Close()
	if w.Notice() == nil {
		t.Fatal("no notice about a folder that cannot be watched")
	}
	wakes(t, w)
}

// A folder that goes away takes its notification with it.
func TestWakerLosesItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	ok(t, os.Mkdir(dir, 0o700))
	w, err := NewWakerEvery(time.Hour, filepath.Join(dir, "db"))
	ok(t, err)
	defer w.Close()
	if err := w.Notice(); err != nil {
		t.Skipf("no file notification here: %v", err)
	}
	ok(t, os.Remove(dir))
	wakes(t, w) // at once: something may have happened
	if w.Notice() == nil {
		t.Fatal("no notice about the lost folder")
	}
	wakes(t, w) // from now on by the poll
}

func TestWakerPollsBehindNotification(t *testing.T) {
	w, err := NewWakerEvery(time.Millisecond, filepath.Join(t.TempDir(), "db"))
	ok(t, err)
	defer w.Close()
	wakes(t, w)
	wakes(t, w)
}

func TestWakerCloseIsIdempotent(t *testing.T) {
	w, err := NewWaker(filepath.Join(t.TempDir(), "db"))
	ok(t, err)
	w.Close()
	w.Close()
	if _, err := NewWaker(); err == nil {
		t.Error("a waker on no file was made")
	}
}
