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
	"agent/tools"
	"agent/tools/process"
)

// fake is a tool whose call does what the test says.
type fake struct {
	name   string
	effect recovery.Effect
	act    func(context.Context) (recovery.Result, error)
}

func (f fake) Spec() tools.Spec {
	return tools.Spec{Name: f.name, Description: "a test's tool", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (f fake) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: f.effect}
}
func (f fake) Call(ctx context.Context, _ tools.Call) (recovery.Result, error) {
	return f.act(ctx)
}

// scripted is a model that gives one list of calls, then ends.
type scripted struct{ calls []string }

func (m scripted) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		a := &model.Answer{Stop: recovery.AnswerEnd, Blocks: []recovery.Block{{Kind: recovery.BlockText, Text: "done"}}}
		if len(req.Messages) == 1 {
			a.Blocks, a.Stop = nil, recovery.AnswerCalls
			for _, name := range m.calls {
				a.Blocks = append(a.Blocks, recovery.Block{Kind: recovery.BlockCall, Call: &recovery.CallBlock{
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
		Env: drive.Env{Tools: reg, Model: func(recovery.RunCreated, *tools.Registry) (model.Model, error) { return m, nil }},
	}}
}

func start(t *testing.T, h *host.Host) (drive.Outcome, *recovery.State) {
	t.Helper()
	out, err := h.Start(t.Context(), host.StartRequest{
		Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: recovery.ModeYolo, Limits: recovery.Limits{MaxTurns: 10},
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

// A panic in a side-effecting tool settles its call as outcome unknown, in a read as failed, and never loops. // TOOL-10
func TestPanicInATool(t *testing.T) {
	calls := 0
	boom := func(context.Context) (recovery.Result, error) { calls++; panic("boom") }
	for _, c := range []struct {
		effect recovery.Effect
		want   recovery.Outcome
	}{
		{recovery.EffectRead, recovery.OutcomeError},
		{recovery.EffectWriteLocal, recovery.OutcomeUnknown},
		{recovery.EffectWriteExternal, recovery.OutcomeUnknown},
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

// An error of a tool whose side effect may have begun is unknown; one that says it did nothing is a plain error.
func TestErrorOfATool(t *testing.T) {
	for _, c := range []struct {
		applied recovery.Applied
		want    recovery.Outcome
	}{
		{"", recovery.OutcomeUnknown},
		{recovery.AppliedUnknown, recovery.OutcomeUnknown},
		{recovery.AppliedNo, recovery.OutcomeError},
		{recovery.AppliedYes, recovery.OutcomeError},
	} {
		fails := func(context.Context) (recovery.Result, error) {
			return recovery.Result{Applied: c.applied}, errors.New("broken")
		}
		h := newHost(t, scripted{[]string{"fails"}}, fake{"fails", recovery.EffectWriteExternal, fails})
		if _, s := start(t, h); s.Turns[0].Calls[0].Result.Outcome != c.want {
			t.Errorf("applied %q: %s", c.applied, s.Turns[0].Calls[0].Result.Outcome)
		}
	}
}

// In the same turn the second of two equal calls is not run while the first is unknown: the model sees the first's result and
// decides afresh. The run ends undecided until a person says what became of the first. // S21
func TestTwinInTheSameTurn(t *testing.T) {
	calls := 0
	boom := func(context.Context) (recovery.Result, error) { calls++; panic("boom") }
	h := newHost(t, scripted{[]string{"boom", "boom"}}, fake{"boom", recovery.EffectWriteExternal, boom})
	out, s := start(t, h)
	first, second := s.Turns[0].Calls[0], s.Turns[0].Calls[1]
	if out.Status != recovery.StatusCompleted || second.Result.Outcome != recovery.OutcomeSkipped || calls != 1 {
		t.Fatalf("run %s, %d calls, the second is %+v", out.Status, calls, second.Result)
	}
	if u := out.Undecided; len(u) != 1 || u[0].ID != first.ID || u[0].Tool != "boom" || u[0].Started.IsZero() {
		t.Errorf("undecided: %+v", u)
	}
	row, err := h.Store.Run(t.Context(), out.Run)
	if err != nil || len(row.Undecided) != 1 || row.Undecided[0].ID != first.ID {
		t.Fatalf("the row says: %+v, %v", row.Undecided, err)
	}
	if err := h.RecordResolution(t.Context(), row.Undecided[0], recovery.WordLeave); err != nil {
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
	meet := func(ctx context.Context) (recovery.Result, error) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-ctx.Done():
			return recovery.Result{}, ctx.Err()
		}
		return recovery.Result{Outcome: recovery.OutcomeOK}, nil
	}
	h := newHost(t, scripted{[]string{"meet", "meet"}}, fake{"meet", recovery.EffectRead, meet})
	if out, _ := start(t, h); out.Status != recovery.StatusCompleted {
		t.Errorf("run %s", out.Status)
	}
}

// What needs a yes becomes a request in mode ask and is refused in mode plan; nothing runs before the yes.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode   recovery.Mode
		effect recovery.Effect
		status recovery.Status
		calls  int
	}{
		{recovery.ModeAsk, recovery.EffectRead, recovery.StatusCompleted, 1},
		{recovery.ModeAsk, recovery.EffectWriteLocal, recovery.StatusWaiting, 0},
		{recovery.ModeAuto, recovery.EffectWriteLocal, recovery.StatusCompleted, 1},
		{recovery.ModeAuto, recovery.EffectWriteExternal, recovery.StatusWaiting, 0},
		{recovery.ModePlan, recovery.EffectWriteLocal, recovery.StatusCompleted, 0},
		{recovery.ModeYolo, recovery.EffectWriteExternal, recovery.StatusCompleted, 1},
	} {
		calls := 0
		act := func(context.Context) (recovery.Result, error) {
			calls++
			return recovery.Result{Outcome: recovery.OutcomeOK}, nil
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
		taken, err := h.Answer(t.Context(), out.Request.ID, json.RawMessage("true"), true)
		if err != nil || taken.Outcome.Status != recovery.StatusCompleted || calls != 1 {
			t.Errorf("mode %s after the yes: %s after %d calls (%v)", c.mode, taken.Outcome.Status, calls, err)
		}
	}
}
