package host_test

import (
	"context"
	"strings"
	"testing"

	"agent/db"
	"agent/host"
	"agent/recovery"
	"agent/recovery/journal"
)

// A run whose facts could not be written any more is not taken for one whose process was killed:
// whoever finds it without an owner records the cause that its owner left. // Issue 11, A9
func TestErrorOfTheStoreIsRecorded(t *testing.T) {
	var h *host.Host
	breaks := func(context.Context) (journal.Result, error) {
		return journal.Result{Outcome: journal.OutcomeOK}, h.Store.Close()
	}
	h = newHost(t, scripted{[]string{"breaks"}}, fake{"breaks", journal.EffectWriteLocal, breaks})
	out, err := h.Start(t.Context(), host.StartRequest{Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: journal.ModeYolo})
	if err == nil || out.Status != recovery.StatusInterrupted || out.Cause != journal.CauseFailing {
		t.Fatalf("run %s, cause %s, %v", out.Status, out.Cause, err)
	}
	if h.Store, err = db.Open(t.Context(), h.Home, db.Options{NoBallast: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	marks, err := h.Reconcile(t.Context(), true)
	if err != nil || len(marks) != 1 || marks[0].Cause != journal.CauseFailing || !strings.Contains(marks[0].Detail, "the store is closed") {
		t.Fatalf("%+v %v", marks, err)
	}
	row, err := h.Store.Run(t.Context(), out.Run)
	if err != nil || row.Cause != journal.CauseFailing {
		t.Errorf("the run is %s, cause %s: %s (%v)", row.Status, row.Cause, row.Detail, err)
	}
}
