package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/db"
	"agent/recovery/journal"
)

// On a disk that became full nothing goes on by itself any more, and the person is told so, once. A
// server that starts on it shows what is recorded.
func TestDiskBecomesFull(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size=1m"); err != nil {
		t.Skipf("mount needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w := openWorld(t, filepath.Join(dir, "state"))
	w.carrier = &starts{}
	runs := &supervisor{Server: w.serve().s}
	w.stop() // it made its token
	said := len(w.said)
	if runs.resting() {
		t.Fatal("with room")
	}
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	err = w.journals.Begin(t.Context(), "r-00000001", "t-00000001", journal.Event{Body: journal.RunCreated{
		Run: "r-00000001", Thread: "t-00000001", Prompt: strings.Repeat("p", 200<<10), Folder: "/w", Model: "m", Mode: journal.ModeAsk}})
	if !errors.Is(err, db.ErrDiskFull) {
		t.Fatal(err)
	}
	for range 2 {
		if err := runs.look(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want := fmt.Sprintf("no run goes on by itself any more: the disk of %s is full; make room on it, then start the server again", w.home)
	if told := w.said[said:]; len(told) != 1 || told[0] != want {
		t.Errorf("%q", told)
	}
	w.serve()
	if a := w.ask("GET", "/v1/runs", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}
}
