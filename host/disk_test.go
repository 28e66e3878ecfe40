package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"agent/host"
	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// runnerTool is a tool whose calls outlive the host, and whose files say what the test wants.
type runnerTool struct {
	fake
	sighting recovery.ProcessEvidence
}

func (r *runnerTool) Find(context.Context, tools.Call) recovery.ProcessEvidence { return r.sighting }
func (r *runnerTool) Attach(ctx context.Context, c tools.Call) (journal.Result, error) {
	return r.Call(ctx, c)
}
func (r *runnerTool) Kill(context.Context, tools.Call) ([]string, error) { return nil, nil }
func (r *runnerTool) Survivors(json.RawMessage) ([]string, error)        { return nil, nil }
func (r *runnerTool) Stop(tools.Call, string) error                      { return nil }
func (r *runnerTool) Discard(tools.Call) error                           { return nil }

// That a command left no record of its start proves that it never started, unless the disk failed
// since the run was claimed: then it is not run a second time. // Issue 11, A8
func TestAbsenceOnADiskThatFailed(t *testing.T) {
	healthy := journal.Disk{Kind: "ext4", Counts: true, Mount: 7}
	for _, c := range []struct {
		name    string
		now     journal.Disk
		refused bool
		calls   int
	}{
		{"healthy", healthy, false, 2},
		{"an error was counted", journal.Disk{Kind: "ext4", Counts: true, Errors: 1, LastError: 9, Mount: 7}, false, 1},
		{"repaired", journal.Disk{Kind: "ext4", Counts: true, Mount: 8}, false, 1},
		{"an error was noted", journal.Disk{Kind: "ext4", Counts: true, Mount: 7, Noted: 1}, false, 1},
		{"its runner recorded that it started nothing", journal.Disk{Kind: "ext4", Counts: true, Errors: 1, Mount: 7}, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			stop, cancel := context.WithCancelCause(t.Context())
			act := func(ctx context.Context) (journal.Result, error) {
				if calls++; calls == 1 {
					cancel(drive.ErrShutdown)
					<-ctx.Done()
					return journal.Result{}, ctx.Err()
				}
				return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes}, nil
			}
			tool := &runnerTool{fake: fake{"act", journal.EffectWriteExternal, act}}
			tool.sighting = recovery.ProcessEvidence{State: recovery.ProcessNever, Refused: c.refused}
			h := newHost(t, scripted{[]string{"act"}}, tool)
			disk := healthy
			h.Disk = func() journal.Disk { return disk }
			out, err := h.Start(stop, host.StartRequest{Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: journal.ModeYolo})
			if err != nil || out.Status != recovery.StatusInterrupted {
				t.Fatalf("run %s, %v", out.Status, err)
			}
			disk = c.now
			if _, err := h.Resume(t.Context(), out.Run, drive.Changes{}, nil); err != nil {
				t.Fatal(err)
			}
			s, err := h.State(t.Context(), out.Run)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Turns[0].Calls[0]; calls != c.calls || got.Unknown() != (c.calls == 1) {
				t.Errorf("it was called %d times: %+v", calls, got.Result)
			}
		})
	}
}

// A claim keeps what can be read of the state folder's disk, and what processes noted of it.
func TestClaimKeepsTheDisk(t *testing.T) {
	h := newHost(t, scripted{})
	if err := os.MkdirAll(filepath.Join(h.Home, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.Home, "log", "disk-errors"), []byte("3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := start(t, h)
	for e, err := range h.Store.Load(t.Context(), out.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(journal.RunClaimed); ok && (b.Disk == nil || b.Disk.Noted != 3) {
			t.Errorf("%+v", b.Disk)
		}
	}
}
