package recovery

import (
	"encoding/json"
	"testing"
	"time"

	"agent/recovery/journal"
)

// delegating is a run whose two calls are carried out by runs of their own.
func delegating(t *testing.T) *State {
	t.Helper()
	s := &State{}
	call := func(id string) journal.Proposal {
		return journal.Proposal{ID: id, Tool: "delegate", Args: json.RawMessage(`{"task":"look"}`), Fingerprint: id, Effect: journal.EffectRead, Decision: journal.DecisionAllow}
	}
	follow(t, s,
		journal.RunCreated{Run: "r-1", Thread: "t-1", Mode: journal.ModeAuto, Limits: journal.Limits{MaxTokens: 1000}},
		journal.RunClaimed{Epoch: 1},
		journal.ModelRequested{},
		journal.ModelAnswered{Calls: []journal.Proposal{call("c-1"), call("c-2")}, Stop: journal.AnswerCalls, Usage: &journal.Usage{Input: 90, Output: 10}},
		journal.CallStarted{Place: journal.Place{Turn: 1, Index: 0, Attempt: 1}, Child: "r-2"},
		journal.CallStarted{Place: journal.Place{Turn: 1, Index: 1, Attempt: 1}, Child: "r-3"},
	)
	return s
}

// follow applies facts, a second apart.
func follow(t *testing.T, s *State, bodies ...journal.Body) {
	t.Helper()
	for _, b := range bodies {
		if err := s.Apply(next(s, b)); err != nil {
			t.Fatal(err)
		}
	}
}

func next(s *State, b journal.Body) journal.Event {
	turn := len(s.Turns)
	switch b.(type) {
	case journal.ModelRequested, journal.ModelAnswered:
		turn++
	}
	return journal.Event{Seq: s.Seq + 1, Turn: turn, Time: time.Unix(1800000000+s.Seq, 0).UTC(), Body: b}
}

// A run waits for people who were asked below it, and a claim goes on with it; while one of its
// calls is no child's, or the run is to end, it does not (flows, promise 23).
func TestParked(t *testing.T) {
	s := delegating(t)
	if err := s.Apply(next(s, journal.RunParked{Children: []string{"r-2"}})); err == nil {
		t.Error("a run was parked while a call was under way")
	}
	s = delegating(t)
	follow(t, s, journal.RunParked{Children: []string{"r-2", "r-3"}})
	if s.Status != StatusWaiting || s.Open != nil {
		t.Fatalf("a parked run is %q and asks %v", s.Status, s.Open)
	}
	follow(t, s, journal.RunClaimed{Epoch: 2})
	if s.Status != StatusRunning || s.Fruitless != 0 {
		t.Errorf("a claimed one is %q after %d fruitless claims", s.Status, s.Fruitless)
	}
	if a, ok := Next(s).(Recover); !ok || len(a.Calls) != 2 {
		t.Errorf("next is %#v", Next(s))
	}
	s = delegating(t)
	follow(t, s, journal.RunStopping{Why: journal.StopCancelled})
	if err := s.Apply(next(s, journal.RunParked{Children: []string{"r-2", "r-3"}})); err == nil {
		t.Error("a run was parked that is to end")
	}
}

// To pick a child up again brings nothing forward by itself: the run of a child that crashes its
// host is left alone after a few claims (EX-22). What the child recorded since counts.
func TestPickedUpChildrenAreNoProgress(t *testing.T) {
	s := delegating(t)
	for epoch := int64(2); epoch < 6; epoch++ {
		follow(t, s, journal.RunClaimed{Epoch: epoch})
		for i := range 2 {
			follow(t, s, journal.CallJudged{Place: journal.Place{Turn: 1, Index: i, Attempt: 1}, Verdict: journal.VerdictAttach})
		}
	}
	if s.Fruitless < 3 {
		t.Errorf("%d claims in a row brought nothing forward, want 3", s.Fruitless)
	}
	if follow(t, s, journal.RunClaimed{Epoch: 6, MovedOn: true}); s.Fruitless != 0 {
		t.Errorf("a child came forward, and %d claims count as fruitless", s.Fruitless)
	}
}

// A child that had not begun when the process died begins beside those that are picked up, which
// may wait for people for days (flows, promise 22).
func TestChildrenBeginBesideOthers(t *testing.T) {
	s := delegating(t)
	follow(t, s, journal.RunClaimed{Epoch: 2},
		journal.CallJudged{Place: journal.Place{Turn: 1, Index: 0, Attempt: 1}, Verdict: journal.VerdictAttach},
		journal.CallJudged{Place: journal.Place{Turn: 1, Index: 1, Attempt: 1}, Verdict: journal.VerdictRun})
	a, ok := Next(s).(Start)
	if !ok || len(a.Calls) != 1 || a.Calls[0].ID != "c-2" {
		t.Errorf("next is %#v", Next(s))
	}
	follow(t, s, journal.CallStarted{Place: journal.Place{Turn: 1, Index: 1, Attempt: 2}, Child: "r-4"})
	if _, ok := Next(s).(Await); !ok {
		t.Errorf("with both under way next is %#v", Next(s))
	}
}

// What children used is charged to the run that delegated, and what it may hand on is what is left,
// in even shares (flows, promise 24).
func TestChildrenAreCharged(t *testing.T) {
	s := delegating(t)
	if l, ok := Left(s, 3); !ok || l.MaxTokens != 300 {
		t.Errorf("of 1000 tokens of which 100 are used each of three may have %d", l.MaxTokens)
	}
	follow(t, s, journal.CallSettled{Place: journal.Place{Turn: 1, Index: 0, Attempt: 1}, Fingerprint: "c-1", Result: journal.Result{
		Outcome: journal.OutcomeOK, Applied: journal.AppliedNo, How: journal.HowExecuted,
		Child: &journal.ChildEnd{Run: "r-2", Status: "completed", Usage: journal.Usage{Input: 800, Output: 50}},
	}})
	if l, ok := Left(s, 1); !ok || l.MaxTokens != 50 {
		t.Errorf("50 of 1000 tokens are left, and %d may be handed on", l.MaxTokens)
	}
	follow(t, s, journal.CallSettled{Place: journal.Place{Turn: 1, Index: 1, Attempt: 1}, Fingerprint: "c-2", Result: journal.Result{
		Outcome: journal.OutcomeOK, Applied: journal.AppliedNo, How: journal.HowExecuted,
		Child: &journal.ChildEnd{Run: "r-3", Status: "failed", Usage: journal.Usage{Input: 60}},
	}})
	if l, ok := Left(s, 1); ok {
		t.Errorf("nothing is left, and %+v may be handed on", l)
	}
}
