package drive

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"agent/db"
	"agent/recovery"
)

func TestRunsShareOneWatch(t *testing.T) {
	store, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "state"), db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := &Process{Store: store, Home: store.Dir()}
	var runs []*wake
	for range 3 {
		w, err := h.wakes.join(store.Files()...)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, w)
	}
	runs[0].Close()
	runs[0].Close()
	_, err = store.Create(t.Context(), db.ThreadRef{ID: "t-1", Folder: "/w", New: true}, []recovery.Event{
		{Body: recovery.RunCreated{Run: "r-1", Thread: "t-1", Folder: "/w", Model: "m", Mode: recovery.ModeAsk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	for i, w := range runs[1:] {
		select {
		case <-w.C():
		case <-ctx.Done():
			t.Fatalf("run %d was not woken", i+1)
		}
		w.Close()
	}
	if len(runs[0].C()) != 0 || h.wakes.watch != nil {
		t.Error("a run that left was woken, or the watch outlives the last run")
	}
}
