package drive

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// Every action of recovery.Next is performed as DESIGN 4 orders it, with a fake model and fake
// tools.

// Record, CallModel and Done: an answer without calls ends the run, in the commits of creation and
// end.
func TestStoryAnswer(t *testing.T) {
	story(t, []line{says("hello")}, nil, func(s *stage) {
		out := s.mustStart()
		s.wants(out, recovery.StatusCompleted, "")
		if got := strings.Join(s.facts(), " "); got != "run.created run.claimed model.requested model.answered turn.settled run.completed" || out.Text != "hello" {
			t.Errorf("%q after %s", out.Text, got)
		}
		if s.journal.wrote != 2 {
			t.Errorf("%d commits", s.journal.wrote)
		}
	})
}

// Start: a call acts only once its start is durable (step 4), and its result is recorded once.
func TestStoryStart(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		acts.act = func(context.Context, tools.Call) (journal.Result, error) {
			if s.count(journal.KindCallStarted) != 1 {
				t.Error("the call acts before its start is durable")
			}
			return fine(), nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if s.count(journal.KindCallSettled) != 1 || acts.acted != 1 {
			t.Errorf("%d results of %d calls", s.count(journal.KindCallSettled), acts.acted)
		}
	})
}

// Await: neighbouring reads act side by side and share a commit; what writes waits for all before
// it (step 5).
func TestStoryReadsSideBySide(t *testing.T) {
	reads, acts := &prop{name: "reads", effect: journal.EffectRead}, writes("acts")
	story(t, []line{calls("reads", "reads", "acts")}, []tools.Tool{reads, acts}, func(s *stage) {
		var under atomic.Int32
		reads.act = func(context.Context, tools.Call) (journal.Result, error) {
			under.Add(1)
			synctest.Wait() // everybody else waits: the other one is under way
			if under.Load() != 2 || acts.acted != 0 {
				t.Errorf("%d reads under way, %d writes done", under.Load(), acts.acted)
			}
			return journal.Result{Outcome: journal.OutcomeOK}, nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if s.journal.wrote != 5 { // creation; answer and starts; both results and the next start; its result and the request; the end
			t.Errorf("%d commits", s.journal.wrote)
		}
	})
}

// CallModel again: what a provider asks to wait is waited, and each failure is a fact (step 3).
func TestStoryRetry(t *testing.T) {
	busy := refuses(journal.FaultOverloaded, time.Minute)
	story(t, []line{busy, busy}, nil, func(s *stage) {
		began := time.Now()
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if took := time.Since(began); took < 2*time.Minute || took > 3*time.Minute || s.count(journal.KindModelFailed) != 2 {
			t.Errorf("%d failures, and an answer after %s", s.count(journal.KindModelFailed), took)
		}
	})
}

// A cancel while the next request is waited for ends the run at once: never stuck.
func TestStoryCancelDuringTheWait(t *testing.T) {
	story(t, []line{refuses(journal.FaultOverloaded, 4*time.Minute)}, nil, func(s *stage) {
		began := time.Now()
		time.AfterFunc(time.Minute, func() {
			if _, err := s.Store.PutInbox(context.Background(), s.created.Run, InboxCancel, json.RawMessage("{}"), "anna"); err != nil {
				t.Error(err)
			}
			s.hint()
		})
		s.wants(s.mustStart(), recovery.StatusCancelled, "")
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// Compact: a request that is too long is followed by one for a summary, which stands for older
// messages from then on.
func TestStoryCompact(t *testing.T) {
	acts := writes("acts")
	acts.act = func(context.Context, tools.Call) (journal.Result, error) {
		r := fine()
		r.Content = strings.Repeat("many words ", 2000)
		return r, nil
	}
	story(t, []line{calls("acts"), refuses(journal.FaultContext, 0), says("a summary"), says("done")}, []tools.Tool{acts}, func(s *stage) {
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if s.count(journal.KindCompacted) != 1 || len(s.model.asked) != 4 || acts.acted != 1 {
			t.Errorf("%d requests, %d calls: %s", len(s.model.asked), acts.acted, strings.Join(s.facts(), " "))
		}
	})
}

// Recover: a call that a crash left without a result is judged by what can be seen of it, and what
// acts is never repeated on a guess (step 2, DESIGN 6).
func TestStoryRecover(t *testing.T) {
	result := fine()
	for _, c := range []struct {
		name     string
		effect   journal.Effect
		sighting *recovery.ProcessEvidence // of a tool whose calls outlive the process
		acted    int                       // in both processes
		attached int
		outcome  journal.Outcome
	}{
		{"a read", journal.EffectRead, nil, 2, 0, journal.OutcomeOK},
		{"a write", journal.EffectWriteExternal, nil, 1, 0, journal.OutcomeUnknown},
		{"running", journal.EffectWriteExternal, &recovery.ProcessEvidence{State: recovery.ProcessRunning}, 1, 1, journal.OutcomeOK},
		{"ended", journal.EffectWriteExternal, &recovery.ProcessEvidence{State: recovery.ProcessEnded, Result: &result}, 1, 0, journal.OutcomeOK},
		{"never began", journal.EffectWriteExternal, &recovery.ProcessEvidence{State: recovery.ProcessNever, Refused: true}, 2, 0, journal.OutcomeOK},
		{"lost", journal.EffectWriteExternal, &recovery.ProcessEvidence{State: recovery.ProcessLost}, 1, 0, journal.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			outlives := &lasting{prop: prop{name: "acts", effect: c.effect}}
			var tool tools.Tool = &outlives.prop
			if c.sighting != nil {
				tool, outlives.sighting = outlives, *c.sighting
			}
			story(t, []line{calls("acts")}, []tools.Tool{tool}, func(s *stage) {
				s.failsAt(journal.KindCallSettled, false, errCrash)
				if _, err := s.start(s.t.Context()); err == nil {
					t.Fatal("the commit did not fail")
				}
				s.heals()
				s.wants(s.resume(), recovery.StatusCompleted, "")
				if got := s.call(0).Result.Outcome; got != c.outcome || outlives.acted != c.acted || outlives.attached != c.attached {
					t.Errorf("outcome %s after %d executions and %d waits", got, outlives.acted, outlives.attached)
				}
				if n := s.count(journal.KindCallJudged); n != 1 {
					t.Errorf("%d decisions of recovery are on record, want 1", n)
				}
				if lost := c.sighting != nil && c.sighting.State == recovery.ProcessLost; lost != (outlives.killed == 1) {
					t.Errorf("what is left of it was ended %d times", outlives.killed)
				}
			})
		})
	}
}

// AskPerson without a terminal: the question is durable and the run waits without a process; the
// answer carries it on.
func TestStoryWaiting(t *testing.T) {
	story(t, []line{calls("asks")}, []tools.Tool{asks{}}, func(s *stage) {
		out := s.mustStart()
		s.wants(out, recovery.StatusWaiting, "")
		if _, err := s.Store.Answer(s.t.Context(), out.Request.ID, json.RawMessage(`"this one"`), "anna"); err != nil {
			t.Fatal(err)
		}
		s.wants(s.resume(), recovery.StatusCompleted, "")
		if got := s.call(0).Result.Content; !strings.Contains(got, "this one") {
			t.Errorf("the call got %q", got)
		}
	})
}

// AskPerson at a terminal: nothing is hurried, and the call that needed a yes acts once it is
// recorded.
func TestStoryAskHere(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Mode = journal.ModeAsk
		s.Env.Ask = func(context.Context, string, journal.Request) (json.RawMessage, error) {
			if acts.acted > 0 || s.count(journal.KindRequestOpened) != 1 {
				t.Error("it is asked before the question is durable, or after the call")
			}
			pass(72 * time.Hour)
			return json.RawMessage(`"yes"`), nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if acts.acted != 1 || s.count(journal.KindRequestAnswered) != 1 {
			t.Errorf("%d calls", acts.acted)
		}
	})
}

// AskPerson whose time is over: the question closes and the run goes on without an answer.
func TestStoryExpires(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Mode, s.created.Expire = journal.ModeAsk, time.Hour
		s.Env.Ask = func(ctx context.Context, _ string, _ journal.Request) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ErrLeftOpen
		}
		began := time.Now()
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if took := time.Since(began); took < time.Hour || took > 2*time.Hour || acts.acted != 0 || s.count(journal.KindRequestClosed) != 1 {
			t.Errorf("%d calls, after %s: %s", acts.acted, took, strings.Join(s.facts(), " "))
		}
	})
}

// StopCalls: a cancel stops what is under way, and the run ends once that is settled.
func TestStoryStopCalls(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts", "acts")}, []tools.Tool{acts}, func(s *stage) {
		acts.act = func(ctx context.Context, _ tools.Call) (journal.Result, error) {
			s.cancel("anna")
			<-ctx.Done()
			return journal.Result{}, ctx.Err()
		}
		began := time.Now()
		s.wants(s.mustStart(), recovery.StatusCancelled, "")
		if took := time.Since(began); took > time.Second {
			t.Errorf("the call was told after %s", took)
		}
		if first, second := s.call(0).Result, s.call(1).Result; acts.acted != 1 || first.Outcome != journal.OutcomeUnknown || second.Outcome != journal.OutcomeSkipped {
			t.Errorf("%d calls: %+v, %+v", acts.acted, first, second)
		}
	})
}

// cancel asks for the end of the run, as another process does.
func (s *stage) cancel(by string) {
	if _, err := s.Store.PutInbox(context.Background(), s.created.Run, InboxCancel, json.RawMessage("{}"), by); err != nil {
		s.t.Error(err)
	}
	s.hint()
}

// StopCalls of a call that does not react: after a bounded time it is judged by what it left, and
// the run ends. Never stuck.
func TestStoryStopsTheDeaf(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		release := make(chan struct{})
		defer close(release)
		acts.act = func(context.Context, tools.Call) (journal.Result, error) {
			s.cancel("anna")
			<-release
			return fine(), nil
		}
		began := time.Now()
		s.wants(s.mustStart(), recovery.StatusCancelled, "")
		if took := time.Since(began); took > time.Minute || s.call(0).Result.Outcome != journal.OutcomeUnknown {
			t.Errorf("after %s: %+v", took, s.call(0).Result)
		}
	})
}

// Claim: nobody drives a run that is not claimed, so the loop performs nothing for it.
func TestStoryClaim(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.failsAt(journal.KindCallSettled, false, errCrash)
		if _, err := s.start(s.t.Context()); err == nil {
			t.Fatal("the commit did not fail")
		}
		s.heals()
		head, err := s.Store.Head(s.t.Context(), s.created.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Store.MarkInterrupted(s.t.Context(), head, journal.CauseCrash, "killed", s.Now()); err != nil {
			t.Fatal(err)
		}
		facts := s.facts()
		d, err := s.open(s.t.Context(), s.created.Run, s.unredacted, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		if err := d.loop(s.t.Context()); err != nil || !slices.Equal(facts, s.facts()) || acts.acted != 1 {
			t.Errorf("%v; %d calls; facts: %s", err, acts.acted, strings.Join(s.facts(), " "))
		}
	})
}

// A state folder that takes no files starts nothing: the run stops with the remedy, and the call is
// still to come, once.
func TestStoryNoRoomToPrepare(t *testing.T) {
	acts := &lasting{prop: prop{name: "acts", effect: journal.EffectWriteExternal}}
	acts.prepare = func() error { return syscall.ENOSPC }
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		out := s.mustStart()
		s.wants(out, recovery.StatusInterrupted, journal.CauseFailing)
		if acts.acted != 0 || !strings.Contains(out.Detail, "make room on the disk of") {
			t.Errorf("%d calls: %s", acts.acted, out.Detail)
		}
		acts.prepare = nil
		s.wants(s.resume(), recovery.StatusCompleted, "")
		if acts.acted != 1 {
			t.Errorf("%d calls", acts.acted)
		}
	})
}
