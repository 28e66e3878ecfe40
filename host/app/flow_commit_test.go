package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/child"
	"agent/host/flow"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/process"
)

// flaky is a journal of which one commit fails.
type flaky struct {
	*db.Store
	left  int // commits before that one
	kept  bool
	fails error
	first func() // hears of it
}

// failed says whether this commit fails, and whether it is kept all the same.
func (f *flaky) failed() (kept, failed bool) {
	if f.left--; f.left != -1 {
		return false, false
	}
	f.first()
	return f.kept, true
}

func (f *flaky) Create(ctx context.Context, ref db.ThreadRef, facts []journal.Event) (head db.Head, err error) {
	kept, failed := f.failed()
	if !failed || kept {
		head, err = f.Store.Create(ctx, ref, facts)
	}
	if failed {
		return db.Head{}, errors.Join(err, f.fails)
	}
	return head, err
}

func (f *flaky) Append(ctx context.Context, was db.Head, facts []journal.Event, o db.AppendOptions) (head db.Head, err error) {
	kept, failed := f.failed()
	if !failed || kept {
		head, err = f.Store.Append(ctx, was, facts, o)
	}
	if failed {
		return db.Head{}, errors.Join(err, f.fails)
	}
	return head, err
}

// phased is a model that acts once in each phase and then answers.
type phased struct{ asked *int }

func (m phased) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		*m.asked++
		a := &model.Answer{Stop: journal.AnswerEnd, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "done"}}}
		if len(req.Messages) == 1 {
			args := json.RawMessage(fmt.Sprintf(`{"first":%t}`, strings.Contains(req.Messages[0].Blocks[0].Text, `phase "one"`)))
			a.Stop, a.Blocks = journal.AnswerCalls, []journal.Block{{Kind: journal.BlockCall, Call: &journal.CallBlock{Tool: "acts", Args: args}}}
		}
		yield(model.Delta{Answer: a}, nil)
	}
}

// A commit of a flow, or of a run below it, that fails ends the drive, whichever it is: the first
// of all, one in the middle of a phase or between two, the last. That is reported; nothing is
// asked, done or written after it; and the next process goes on from what was kept: nothing is done
// twice, and the end is the same (flows, promise 27).
// EX-23, EX-30, EX-32, EX-33.
func TestFlowCommitFails(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kept bool
	}{
		"disk full": {db.ErrDiskFull, false}, "not kept": {&db.CommitError{Err: db.ErrIO}, false}, "kept": {&db.CommitError{Err: db.ErrIO}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for flowCommitFails(t, n, c.kept, c.err) {
				n++
			}
			if n < 10 {
				t.Errorf("the flow has %d commits", n)
			}
		})
	}
}

// flowCommitFails has the commit behind the first n fail, and says whether there was one.
func flowCommitFails(t *testing.T, n int, kept bool, failure error) bool {
	t.Helper()
	asked, acts, folder := 0, &acting{}, t.TempDir()
	h := flowHost(t, phased{&asked}, acts)
	made := func() string {
		list, err := filepath.Glob(filepath.Join(folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(asked, acts.n, len(list))
	}
	at := ""
	h.Journal = &flaky{Store: h.Store, left: n, kept: kept, fails: failure, first: func() { at = made() }}
	out, err := h.Start(t.Context(), flowRequest(folder))
	if at == "" {
		return false
	}
	if then := made(); then != at {
		t.Errorf("commit %d: asked, acted and made %s when it failed, and %s in the end", n, at, then)
	}
	if !errors.Is(err, failure) && !strings.Contains(out.Detail, failure.Error()) || out.Status == recovery.StatusCompleted {
		t.Errorf("commit %d: the flow is %s (%s), %v", n, out.Status, out.Detail, err)
	}
	rows, err := h.Store.Runs(t.Context(), db.Filter{Folder: folder})
	if err != nil || len(rows) > 1 || (len(rows) == 0) != (n == 0 && !kept) {
		t.Fatalf("commit %d: %d runs, %v", n, len(rows), err)
	}
	switch {
	case len(rows) == 0:
		out, err = h.Start(t.Context(), flowRequest(folder))
	case !rows[0].Status.Terminal():
		out, err = h.Resume(t.Context(), rows[0].ID, host.Changes{}, nil)
	default:
		out, err = host.Outcome{Status: rows[0].Status}, nil
	}
	if err != nil || out.Status != recovery.StatusCompleted || acts.n > 2 || acts.n < 2 && !kept {
		t.Errorf("commit %d: acted %d times; then the flow is %s (%s), %v", n, acts.n, out.Status, out.Detail, err)
	}
	for _, name := range []string{"one.md", "two.md"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != "done\n" {
			t.Errorf("commit %d: %s holds %q, %v", n, name, text, err)
		}
	}
	return true
}

// acting is a tool that counts its calls.
type acting struct{ n int }

func (a *acting) Spec() tools.Spec {
	return tools.Spec{Name: "acts", Description: "a test's tool", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (a *acting) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectWriteLocal}
}

func (a *acting) Call(context.Context, tools.Call) (journal.Result, error) {
	a.n++
	return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes}, nil
}

// flowHost carries out flows over a store of its own.
func flowHost(t *testing.T, m model.Model, tool tools.Tool) *host.Host {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	store, err := db.Open(t.Context(), home, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	reg, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Process: host.Process{
		Store: store, Home: home, Hub: stream.NewHub(), Now: time.Now, Version: "test", Self: process.Self(), Who: "tester",
		Env: host.Env{Tools: reg, Model: func(journal.RunCreated, *tools.Registry) (model.Model, error) { return m, nil }},
	}}
	h.Flows = (&flow.Engine{Carrier: &child.Carrier{Process: &h.Process}, Denied: []string{home}}).Open
	return h
}

// flowRequest starts a flow of two phases, of which the second reads what the first one answered.
func flowRequest(folder string) host.StartRequest {
	const def = `{"name": "flow.md", "task": "optional", "parallel": 4, "on_fail": "stop", "phases": [
		{"name": "one", "prompt": "Do it.", "answer": {"path": "one.md"}, "tries": 2, "on_fail": "stop", "redo": "ask", "rounds": 3},
		{"name": "two", "prompt": "Do it.", "after": ["one"], "inputs": [{"path": "one.md"}], "answer": {"path": "two.md"}, "tries": 2, "on_fail": "stop", "redo": "ask", "rounds": 3}]}`
	return host.StartRequest{Flow: json.RawMessage(def), Source: "flow.md", Folder: folder, Model: "phased", Mode: journal.ModeYolo, Limits: journal.Limits{MaxTurns: 10}}
}
