package host_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// asks is a tool that asks a person while its call is under way.
type asks struct {
	fake
	call func(context.Context, tools.Call) (journal.Result, error)
}

func (a asks) Call(ctx context.Context, c tools.Call) (journal.Result, error) { return a.call(ctx, c) }

var whichBranch = journal.Question{Message: "which branch?", Schema: json.RawMessage(`{"type":"object"}`)}

// firstQuestion is closed once a question stands.
func firstQuestion(t *testing.T, h *host.Host) <-chan struct{} {
	t.Helper()
	watch, opened := h.Hub.Observe(0), make(chan struct{})
	t.Cleanup(watch.Close)
	go func() {
		for {
			e, err := watch.Next(t.Context())
			if err != nil {
				return
			}
			if e.Fact != nil && e.Fact.Body.Kind() == journal.KindRequestOpened {
				close(opened)
				return
			}
		}
	}()
	return opened
}

// A call that is under way asks, the run waits under its owner, and another process's answer
// reaches the call once it is durable. // PEND-01, DESIGN 9
func TestACallAsksWhileItIsUnderWay(t *testing.T) {
	var h *host.Host
	got := make(chan string, 1)
	h = newHost(t, scripted{[]string{"asks"}}, asks{
		fake{name: "asks", effect: journal.EffectWriteExternal},
		func(ctx context.Context, c tools.Call) (journal.Result, error) {
			answer, err := c.Ask(ctx, whichBranch)
			if err == nil {
				row, rowErr := h.Store.Pending(ctx, true)
				if rowErr != nil || len(row) != 1 || row[0].Status != "resolved" {
					t.Errorf("the answer is not durable when the call gets it: %+v (%v)", row, rowErr)
				}
			}
			got <- string(answer)
			return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: string(answer)}, err
		},
	})
	opened := firstQuestion(t, h)
	go func() {
		<-opened
		rows, err := h.Store.Pending(t.Context(), false)
		if err != nil || len(rows) != 1 {
			t.Errorf("the question: %+v (%v)", rows, err)
			return
		}
		if _, err := h.Store.Answer(t.Context(), rows[0].ID, json.RawMessage(`{"branch":"main"}`), "ana"); err != nil {
			t.Error(err)
		}
	}()
	out, _ := start(t, h)
	if answer := <-got; answer != `{"branch":"main"}` || out.Status != recovery.StatusCompleted {
		t.Errorf("the call got %q, run %s", answer, out.Status)
	}
}

// A call that takes its question back, ends without its answer, or is asked to stop, ends the
// question too: nobody is asked for somebody who is gone.
func TestACallThatDoesNotWait(t *testing.T) {
	type call = func(ctx context.Context, c tools.Call, opened <-chan struct{}, stop func()) error
	for name, act := range map[string]call{
		"takes it back": func(ctx context.Context, c tools.Call, opened <-chan struct{}, _ func()) error {
			short, cancel := context.WithCancel(ctx)
			go func() { <-opened; cancel() }()
			_, err := c.Ask(short, whichBranch)
			return err
		},
		"ends": func(ctx context.Context, c tools.Call, opened <-chan struct{}, _ func()) error {
			go func() { _, _ = c.Ask(ctx, whichBranch) }() // the call ends before the answer comes
			<-opened
			return nil
		},
		"is asked to stop": func(ctx context.Context, c tools.Call, opened <-chan struct{}, stop func()) error {
			go func() { <-opened; stop() }()
			_, err := c.Ask(ctx, whichBranch)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan error, 1)
			ctx, stop := context.WithCancelCause(t.Context())
			var opened <-chan struct{}
			h := newHost(t, scripted{[]string{"asks"}}, asks{
				fake{name: "asks", effect: journal.EffectWriteExternal},
				func(ctx context.Context, c tools.Call) (journal.Result, error) {
					asked <- act(ctx, c, opened, func() { stop(drive.ErrShutdown) })
					return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes}, nil
				},
			})
			opened = firstQuestion(t, h)
			out, err := h.Start(ctx, host.StartRequest{Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: journal.ModeYolo})
			if err != nil {
				t.Fatal(err)
			}
			open, err := h.Store.Pending(t.Context(), false)
			if err != nil || len(open) != 0 {
				t.Errorf("run %s, still open: %+v (%v)", out.Status, open, err)
			}
			if err := <-asked; (err == nil) != (name == "ends") {
				t.Errorf("the call was told %v", err)
			}
			s, err := h.State(t.Context(), out.Run)
			if err != nil || len(s.Turns.Unsettled()) > 0 || s.Turns[0].Calls[0].Result.Outcome != journal.OutcomeOK {
				t.Errorf("run %s, %d calls open (%v)", s.Status, len(s.Turns.Unsettled()), err)
			}
		})
	}
}

// An owner that dies while its call asks leaves a question that nobody waits for: the next owner
// ends it, and the call's outcome is unknown. // REC-01
func TestTheAskerIsGone(t *testing.T) {
	calls := 0
	h := newHost(t, scripted{[]string{"asks"}}, asks{
		fake{name: "asks", effect: journal.EffectWriteExternal},
		func(ctx context.Context, c tools.Call) (journal.Result, error) {
			calls++
			panic("not reached")
		},
	})
	run := leftAsking(t, h)
	out, err := h.Resume(t.Context(), run, drive.Changes{}, nil)
	if err != nil || out.Status != recovery.StatusCompleted || calls != 0 {
		t.Fatalf("run %+v after %d calls (%v)", out, calls, err)
	}
	s, err := h.State(t.Context(), run)
	if err != nil || s.Turns[0].Calls[0].Result.Outcome != journal.OutcomeUnknown {
		t.Errorf("the call: %+v (%v)", s.Turns[0].Calls[0].Result, err)
	}
}

// leftAsking writes the journal of a run whose owner died while its call asked.
func leftAsking(t *testing.T, h *host.Host) string {
	t.Helper()
	run, thread := drive.NewID("r"), drive.NewID("t")
	fp, err := h.Store.Fingerprint(thread, "asks", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	at := journal.Place{Turn: 1, Attempt: 1}
	bodies := []journal.Body{
		journal.RunCreated{
			Run: run, Thread: thread, Prompt: "go", Folder: t.TempDir(), Model: "scripted", Mode: journal.ModeYolo,
			Version: "test", ToolsHash: h.Env.Tools.Digest(),
		},
		journal.RunClaimed{Epoch: 1, PID: 1},
		journal.ModelRequested{},
		journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{{
			ID: drive.NewID("c"), Tool: "asks", Args: json.RawMessage(`{}`), Fingerprint: fp,
			Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow,
		}}},
		journal.CallStarted{Place: at},
		journal.RequestOpened{Request: journal.Request{
			ID: drive.NewID("p"), Call: &at,
			Question: journal.Question{Kind: journal.RequestElicit, Message: "which branch?", Schema: whichBranch.Schema},
		}},
	}
	var events []journal.Event
	for i, b := range bodies {
		turn := 0
		if i > 1 {
			turn = 1
		}
		events = append(events, journal.Event{Seq: int64(i) + 1, Turn: turn, Time: time.Now(), Body: b})
	}
	if _, err := h.Store.Create(t.Context(), db.ThreadRef{ID: thread, Folder: "/", New: true}, events); err != nil {
		t.Fatal(err)
	}
	return run
}
