package host

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/stream"
	"agent/recovery/journal"
	"agent/tools/process"
)

// The power may have gone in the middle of a write: where a run was driven in another boot, the
// whole file is read before it is driven on, and that is reported. // JRN-11
func TestTheDatabaseIsCheckedAfterAReboot(t *testing.T) {
	s, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "state"), db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	facts := []journal.Event{
		{Body: journal.RunCreated{Run: "r-reboot11", Thread: "t-reboot11", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
		{Body: journal.RunClaimed{Epoch: 1, PID: 7, Boot: "before"}},
	}
	if _, err := s.Create(t.Context(), db.ThreadRef{ID: "t-reboot11", Folder: "/w", New: true}, facts); err != nil {
		t.Fatal(err)
	}
	for boot, checked := range map[string]bool{"before": false, "now": true} {
		h := &Host{Process: drive.Process{Store: s, Hub: stream.NewHub(), Now: time.Now, Self: process.Identity{Boot: boot}}}
		h.Guard()
		ctx, cancel := context.WithCancel(t.Context())
		var noted string
		h.Hub.Through(func(e stream.Event) []stream.Event {
			noted = e.Note
			cancel() // the reading that follows has to notice
			return nil
		})
		err := h.afterReboot(ctx, "r-reboot11")
		if strings.Contains(noted, "checking the database") != checked || (err != nil) != checked {
			t.Errorf("boot %q: %q, and the reading ends with %v", boot, noted, err)
		}
		cancel()
	}
}
