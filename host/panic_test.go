package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/drive"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/process"
)

// fake is a tool whose call does what the test says.
type fake struct {
	name   string
	effect journal.Effect
	act    func(context.Context) (journal.Result, error)
}

func (f fake) Spec() tools.Spec {
	return tools.Spec{Name: f.name, Description: "a test's tool", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (f fake) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: f.effect}
}
func (f fake) Call(ctx context.Context, _ tools.Call) (journal.Result, error) {
	return f.act(ctx)
}

// scripted is a model that gives one list of calls, then ends.
type scripted struct{ calls []string }

func (m scripted) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		a := &model.Answer{Stop: journal.AnswerEnd, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "done"}}}
		if len(req.Messages) == 1 {
			a.Blocks, a.Stop = nil, journal.AnswerCalls
			for _, name := range m.calls {
				a.Blocks = append(a.Blocks, journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{
					Tool: name, Args: json.RawMessage(`{}`),
				}})
			}
		}
		yield(model.Delta{Answer: a}, nil)
	}
}

func newHost(t testing.TB, m model.Model, list ...tools.Tool) *host.Host {
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
	reg, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	return &host.Host{Process: drive.Process{
		Store: store, Home: home, Hub: stream.NewHub(), Now: time.Now, Version: "test", Self: process.Self(),
		Who: "tester",
		Env: drive.Env{Tools: reg, Model: func(journal.RunCreated, *tools.Registry) (model.Model, error) { return m, nil }},
	}}
}

func start(t *testing.T, h *host.Host) (drive.Outcome, *recovery.State) {
	t.Helper()
	out, err := h.Start(t.Context(), host.StartRequest{
		Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: journal.ModeYolo, Limits: journal.Limits{MaxTurns: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.State(t.Context(), out.Run)
	if err != nil {
		t.Fatal(err)
	}
	return out, s
}

// A panic in a side-effecting tool settles its call as outcome unknown, in a read as failed, and
// never loops. // TOOL-10
func TestPanicInATool(t *testing.T) {
	calls := 0
	boom := func(context.Context) (journal.Result, error) { calls++; panic("boom") }
	for _, c := range []struct {
		effect journal.Effect
		want   journal.Outcome
	}{
		{journal.EffectRead, journal.OutcomeError},
		{journal.EffectWriteLocal, journal.OutcomeUnknown},
		{journal.EffectWriteExternal, journal.OutcomeUnknown},
	} {
		t.Run(string(c.effect), func(t *testing.T) {
			calls = 0
			h := newHost(t, scripted{[]string{"boom"}}, fake{"boom", c.effect, boom})
			out, s := start(t, h)
			got := s.Turns[0].Calls[0].Result
			if out.Status != recovery.StatusCompleted || got.Outcome != c.want || !strings.Contains(got.Content, "boom") || calls != 1 {
				t.Errorf("run %s, call %s %q after %d calls", out.Status, got.Outcome, got.Content, calls)
			}
		})
	}
}

// An error of a tool whose side effect may have begun is unknown; one that says it did nothing is a
// plain error.
func TestErrorOfATool(t *testing.T) {
	for _, c := range []struct {
		applied journal.Applied
		want    journal.Outcome
	}{
		{"", journal.OutcomeUnknown},
		{journal.AppliedUnknown, journal.OutcomeUnknown},
		{journal.AppliedNo, journal.OutcomeError},
		{journal.AppliedYes, journal.OutcomeError},
	} {
		fails := func(context.Context) (journal.Result, error) {
			return journal.Result{Applied: c.applied}, errors.New("broken")
		}
		h := newHost(t, scripted{[]string{"fails"}}, fake{"fails", journal.EffectWriteExternal, fails})
		if _, s := start(t, h); s.Turns[0].Calls[0].Result.Outcome != c.want {
			t.Errorf("applied %q: %s", c.applied, s.Turns[0].Calls[0].Result.Outcome)
		}
	}
}

// In the same turn the second of two equal calls is not run while the first is unknown: the model
// sees the first's result and decides afresh. The run ends undecided until a person says what
// became of the first. // S21
func TestTwinInTheSameTurn(t *testing.T) {
	calls := 0
	boom := func(context.Context) (journal.Result, error) { calls++; panic("boom") }
	h := newHost(t, scripted{[]string{"boom", "boom"}}, fake{"boom", journal.EffectWriteExternal, boom})
	out, s := start(t, h)
	first, second := s.Turns[0].Calls[0], s.Turns[0].Calls[1]
	if out.Status != recovery.StatusCompleted || second.Result.Outcome != journal.OutcomeSkipped || calls != 1 {
		t.Fatalf("run %s, %d calls, the second is %+v", out.Status, calls, second.Result)
	}
	if u := out.Undecided; len(u) != 1 || u[0].ID != first.ID || u[0].Tool != "boom" || u[0].Started.IsZero() {
		t.Errorf("undecided: %+v", u)
	}
	row, err := h.Store.Run(t.Context(), out.Run)
	if err != nil || len(row.Undecided) != 1 || row.Undecided[0].ID != first.ID {
		t.Fatalf("the row says: %+v, %v", row.Undecided, err)
	}
	if err := h.RecordResolution(t.Context(), row.Undecided[0], journal.WordLeave); err != nil {
		t.Fatal(err)
	}
	s, err = h.State(t.Context(), out.Run)
	if err != nil || len(h.Finished(s).Undecided) != 0 || len(s.UnknownCalls()) != 1 {
		t.Errorf("after leave: %+v, %v", h.Finished(s).Undecided, err)
	}
}

// Reads that stand side by side run side by side: each waits for the other. // DESIGN 4, step 5
func TestReadsRunSideBySide(t *testing.T) {
	met := make(chan struct{})
	meet := func(ctx context.Context) (journal.Result, error) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-ctx.Done():
			return journal.Result{}, ctx.Err()
		}
		return journal.Result{Outcome: journal.OutcomeOK}, nil
	}
	h := newHost(t, scripted{[]string{"meet", "meet"}}, fake{"meet", journal.EffectRead, meet})
	if out, _ := start(t, h); out.Status != recovery.StatusCompleted {
		t.Errorf("run %s", out.Status)
	}
}

// What needs a yes becomes a request in mode ask and is refused in mode plan; nothing runs before
// the yes.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode   journal.Mode
		effect journal.Effect
		status recovery.Status
		calls  int
	}{
		{journal.ModeAsk, journal.EffectRead, recovery.StatusCompleted, 1},
		{journal.ModeAsk, journal.EffectWriteLocal, recovery.StatusWaiting, 0},
		{journal.ModeAuto, journal.EffectWriteLocal, recovery.StatusCompleted, 1},
		{journal.ModeAuto, journal.EffectWriteExternal, recovery.StatusWaiting, 0},
		{journal.ModePlan, journal.EffectWriteLocal, recovery.StatusCompleted, 0},
		{journal.ModeYolo, journal.EffectWriteExternal, recovery.StatusCompleted, 1},
	} {
		calls := 0
		act := func(context.Context) (journal.Result, error) {
			calls++
			return journal.Result{Outcome: journal.OutcomeOK}, nil
		}
		h := newHost(t, scripted{[]string{"act"}}, fake{"act", c.effect, act})
		out, err := h.Start(t.Context(), host.StartRequest{Prompt: "go", Folder: t.TempDir(), Model: "m", Mode: c.mode})
		if err != nil || out.Status != c.status || calls != c.calls {
			t.Errorf("mode %s, effect %s: %s after %d calls (%v)", c.mode, c.effect, out.Status, calls, err)
			continue
		}
		if out.Status != recovery.StatusWaiting {
			continue
		}
		taken, err := h.Answer(t.Context(), out.Request.ID, json.RawMessage("true"), h.GoOnHere)
		if err != nil || taken.Outcome.Status != recovery.StatusCompleted || calls != 1 {
			t.Errorf("mode %s after the yes: %s after %d calls (%v)", c.mode, taken.Outcome.Status, calls, err)
		}
	}
}
