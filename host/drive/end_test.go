package drive

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/db"
	"agent/host/model"
	"agent/host/owner"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// shutdown is a context that ends after some time as a signal ends it.
func (s *stage) shutdown(after time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	time.AfterFunc(after, func() { cancel(ErrShutdown) })
	return ctx
}

// A shutdown while the model thinks leaves the run resumable, and the request after the resume is
// the same to the byte (DESIGN 9, 11).
func TestStoryShutdownDuringAnAnswer(t *testing.T) {
	story(t, []line{hangs}, nil, func(s *stage) {
		out, err := s.start(s.shutdown(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		s.wants(out, recovery.StatusInterrupted, journal.CauseShutdown)
		s.wants(s.resume(), recovery.StatusCompleted, "")
		if diff := cmp.Diff(s.model.asked[0], s.model.asked[1]); diff != "" || s.count(journal.KindModelFailed) != 0 {
			t.Errorf("the request changed: %s", diff)
		}
	})
}

// A shutdown does not end a command: it goes on under its runner, that is said, and the next
// process waits for it.
func TestStoryShutdownDuringACommand(t *testing.T) {
	acts := &lasting{prop: prop{name: "acts", effect: journal.EffectWriteExternal}, sighting: recovery.ProcessEvidence{State: recovery.ProcessRunning}}
	acts.act = func(ctx context.Context, _ tools.Call) (journal.Result, error) {
		<-ctx.Done()
		return journal.Result{}, ctx.Err()
	}
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		out, err := s.start(s.shutdown(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		s.wants(out, recovery.StatusInterrupted, journal.CauseShutdown)
		if len(out.Running) != 1 || len(acts.stopped) > 0 {
			t.Errorf("running %q, stopped %q", out.Running, acts.stopped)
		}
		s.wants(s.resume(), recovery.StatusCompleted, "")
		if acts.acted != 1 || acts.attached != 1 {
			t.Errorf("%d executions, %d waits", acts.acted, acts.attached)
		}
	})
}

// What acts inside this process is waited for, for a bounded time: a result that comes within it is
// kept, and one that comes too late is unknown. Neither is repeated. What follows from a result
// that came is recorded too.
func TestStoryShutdownDuringACall(t *testing.T) {
	for name, c := range map[string]struct {
		takes       time.Duration
		outcome     journal.Outcome
		checkpoints int
	}{
		"in time":  {3 * time.Second, journal.OutcomeOK, 1}, // time: of the made clock
		"too late": {time.Minute, journal.OutcomeUnknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			acts := writes("acts")
			acts.act = func(ctx context.Context, _ tools.Call) (journal.Result, error) {
				<-ctx.Done()
				pass(c.takes)
				return fine(), nil
			}
			story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
				began := time.Now()
				out, err := s.start(s.shutdown(time.Hour))
				if took := time.Since(began) - time.Hour; err != nil || took > 10*time.Second {
					t.Errorf("it took %s to leave: %v", took, err)
				}
				s.wants(out, recovery.StatusInterrupted, journal.CauseShutdown)
				if n := s.count(journal.KindTurnSettled); n != c.checkpoints {
					t.Errorf("%d checkpoints before the resume, want %d", n, c.checkpoints)
				}
				s.wants(s.resume(), recovery.StatusCompleted, "")
				if got := s.call(0).Result.Outcome; got != c.outcome || acts.acted != 1 {
					t.Errorf("outcome %s after %d executions", got, acts.acted)
				}
				pass(c.takes) // nothing stays behind in the bubble
			})
		})
	}
}

// A shutdown at a question leaves it open: the run waits, and is not interrupted.
func TestStoryShutdownAtAQuestion(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Mode = journal.ModeAsk
		s.Env.Ask = func(ctx context.Context, _ string, _ journal.Request) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		out, err := s.start(s.shutdown(time.Hour))
		if err != nil || out.Request == nil {
			t.Fatalf("%+v, %v", out, err)
		}
		s.wants(out, recovery.StatusWaiting, "")
	})
}

// A process whose run another one claimed writes nothing and starts nothing any more (DESIGN 8).
func TestStoryTakeover(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts", "acts")}, []tools.Tool{acts}, func(s *stage) {
		var seq int64
		acts.act = func(ctx context.Context, _ tools.Call) (journal.Result, error) {
			head, err := s.Store.Head(ctx, s.created.Run)
			if err != nil {
				return journal.Result{}, err
			}
			claim := journal.Event{Seq: head.Seq + 1, Turn: 1, Time: s.Now(), Body: journal.RunClaimed{Epoch: head.Epoch + 1, PID: 1}}
			head, err = s.Store.Append(ctx, head, []journal.Event{claim}, db.AppendOptions{})
			seq = head.Seq
			return fine(), err
		}
		out, err := s.start(s.t.Context())
		if !errors.Is(err, db.ErrLostRace) || out.Cause != journal.CauseTakeover {
			t.Errorf("%+v, %v", out, err)
		}
		head, err := s.Store.Head(s.t.Context(), s.created.Run)
		if err != nil || head.Seq != seq || acts.acted != 1 {
			t.Errorf("fact %d is the last, %d when the run was taken over; %d calls; %v", head.Seq, seq, acts.acted, err)
		}
	})
}

// Two processes at once: the second is refused with who holds the run, and changes nothing.
func TestStoryHeld(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		acts.act = func(ctx context.Context, _ tools.Call) (journal.Result, error) {
			facts := len(s.facts())
			_, err := Claim(ctx, s.Process, s.created.Run, Changes{}, nil)
			var held *owner.HeldError
			if !errors.As(err, &held) || held.Run != s.created.Run || len(s.facts()) != facts {
				t.Errorf("the second process ends with %v", err)
			}
			return fine(), nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
	})
}

// Two answers at once: the first counts, and the second learns it. There is one answer on record.
func TestStoryTwoAnswers(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Mode = journal.ModeAsk
		s.Env.Ask = func(ctx context.Context, _ string, r journal.Request) (json.RawMessage, error) {
			if _, err := s.Store.Answer(ctx, r.ID, json.RawMessage(`"no"`), "anna"); err != nil {
				t.Error(err)
			}
			return json.RawMessage(`"yes"`), nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if acts.acted != 0 || s.count(journal.KindRequestAnswered) != 1 || !s.said("anna") {
			t.Errorf("%d calls; %d answers; %q", acts.acted, s.count(journal.KindRequestAnswered), s.notes)
		}
	})
}

// An answer from elsewhere ends the question at the terminal.
func TestStoryAnswerFromElsewhere(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Mode = journal.ModeAsk
		restored := false
		s.Env.Ask = func(ctx context.Context, _ string, r journal.Request) (json.RawMessage, error) {
			if _, err := s.Store.Answer(ctx, r.ID, json.RawMessage(`"yes"`), "anna"); err != nil {
				t.Error(err)
			}
			s.hint()
			<-ctx.Done()
			restored = true
			return nil, ErrLeftOpen
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if acts.acted != 1 || !restored {
			t.Errorf("%d calls; the terminal is free: %v", acts.acted, restored)
		}
	})
}

// A process of the run's own listens for an answer: a minute, and longer where it holds servers,
// which start with it. Then it ends, and the question stays. With a witness it ends at once.
// windows 17.13
func TestStoryListensInTheBackground(t *testing.T) {
	servers := []journal.ServerPin{{Name: "one"}}
	for name, c := range map[string]struct {
		servers []journal.ServerPin
		witness string
		after   time.Duration
		left    bool
	}{
		"answered":              {nil, "", 50 * time.Second, false},
		"late":                  {nil, "", 2 * time.Minute, true},
		"answered, servers":     {servers, "", 9 * time.Minute, false},
		"late, with servers":    {servers, "", 11 * time.Minute, true},
		"with a witness":        {nil, "unix:/w", time.Second, true},
		"witness, with servers": {servers, "unix:/w", time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			acts := writes("acts")
			story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
				s.created.Mode, s.Detached, s.Env.Servers = journal.ModeAsk, true, c.servers
				s.created.Witness = c.witness
				ctx, end := context.WithCancel(s.t.Context())
				defer end()
				go func() {
					select {
					case <-time.After(c.after):
					case <-ctx.Done():
						return
					}
					rows, err := s.Store.Pending(s.t.Context(), false)
					if err != nil || len(rows) != 1 {
						t.Error(rows, err)
						return
					}
					if _, err := s.Store.Answer(s.t.Context(), rows[0].ID, json.RawMessage(`"yes"`), "anna"); err != nil {
						t.Error(err)
					}
					s.hint()
				}()
				out := s.mustStart()
				if c.left {
					s.wants(out, recovery.StatusWaiting, "")
				} else {
					s.wants(out, recovery.StatusCompleted, "")
				}
				if (acts.acted == 1) == c.left {
					t.Errorf("%d calls", acts.acted)
				}
			})
		})
	}
}

// An answer and a cancel at once: the answer was first, so it is on record, and the run ends all
// the same.
func TestStoryAnswerAndCancel(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Mode = journal.ModeAsk
		var id string
		s.Env.Ask = func(ctx context.Context, _ string, r journal.Request) (json.RawMessage, error) {
			id = r.ID
			s.cancel("bert")
			<-ctx.Done()
			return nil, ErrLeftOpen
		}
		s.journal.before = func(facts []journal.Event) {
			if holds(facts, journal.KindRequestClosed) {
				s.journal.before = nil
				if _, err := s.Store.Answer(s.t.Context(), id, json.RawMessage(`"yes"`), "anna"); err != nil {
					t.Error(err)
				}
			}
		}
		s.wants(s.mustStart(), recovery.StatusCancelled, "")
		if acts.acted != 0 || s.count(journal.KindRequestAnswered) != 1 || s.count(journal.KindRequestClosed) != 0 {
			t.Errorf("%d calls: %s", acts.acted, strings.Join(s.facts(), " "))
		}
	})
}

// The time limit ends the run with its reason, whatever is under way.
func TestStoryTimeLimit(t *testing.T) {
	story(t, []line{hangs}, nil, func(s *stage) {
		s.created.Limits.Timeout = time.Hour
		began := time.Now()
		out := s.mustStart()
		s.wants(out, recovery.StatusFailed, "")
		if took := time.Since(began); took < time.Hour || took > 2*time.Hour || !strings.Contains(out.Text+out.Detail, "time limit") {
			t.Errorf("after %s: %+v", took, out)
		}
	})
}

// A command that goes on without an owner uses up the time limit: a crash refills no budget.
func TestStoryTimeWithoutAnOwner(t *testing.T) {
	for away, status := range map[time.Duration]recovery.Status{time.Hour: recovery.StatusCompleted, 3 * time.Hour: recovery.StatusFailed} {
		t.Run(away.String(), func(t *testing.T) {
			acts := &lasting{prop: prop{name: "acts", effect: journal.EffectWriteExternal}, sighting: recovery.ProcessEvidence{State: recovery.ProcessRunning}}
			acts.act = func(ctx context.Context, _ tools.Call) (journal.Result, error) {
				<-ctx.Done()
				return journal.Result{}, ctx.Err()
			}
			story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
				s.created.Limits.Timeout = 3 * time.Hour
				if _, err := s.start(s.shutdown(time.Hour)); err != nil {
					t.Fatal(err)
				}
				pass(away)
				s.wants(s.resume(), status, "")
			})
		})
	}
}

// A run that another process goes on with has the turns that it had before, and no more.
func TestStoryTurnLimitAcrossProcesses(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts"), hangs, calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Limits.MaxTurns = 2
		out, err := s.start(s.shutdown(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		s.wants(out, recovery.StatusInterrupted, journal.CauseShutdown)
		out = s.resume()
		s.wants(out, recovery.StatusWaiting, "")
		if out.Request == nil || out.Request.Kind != journal.RequestMaxTurns || acts.acted != 2 {
			t.Errorf("%d calls; the question is %+v", acts.acted, out.Request)
		}
	})
}

// A clock that is set while a call acts uses up no limit, and is reported.
func TestStoryClockIsSet(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.created.Limits.Timeout = time.Hour
		var set time.Duration
		s.Now = func() time.Time { return time.Now().Add(set) }
		acts.act = func(context.Context, tools.Call) (journal.Result, error) {
			set = 24 * time.Hour
			return fine(), nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if s.count(journal.KindRunNoted) != 1 {
			t.Errorf("facts: %s", strings.Join(s.facts(), " "))
		}
	})
}

// A panic of the host ends the run as failed with every call settled; nothing is left running in
// this process.
func TestStoryPanic(t *testing.T) {
	boom := func(context.Context) (*model.Answer, error) { panic("boom") }
	story(t, []line{calls("acts"), boom}, []tools.Tool{writes("acts")}, func(s *stage) {
		out, err := s.start(s.t.Context())
		var p *PanicError
		if !errors.As(err, &p) || p.Run != s.created.Run {
			t.Errorf("%v", err)
		}
		s.wants(out, recovery.StatusFailed, "")
	})
}
