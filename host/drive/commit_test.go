package drive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// errCrash ends a process in the middle: nothing of what it still does is kept.
var errCrash = errors.New("the process was killed")

// A commit that fails has an unknown outcome: nothing is started and nothing further is written,
// whatever the error, and whether the facts were kept or not. The next process finds out from the
// journal, and the call acts once at most (DESIGN 4, 5 and 1).
// EX-32.
func TestStoryCommitFails(t *testing.T) {
	unknown := &db.CommitError{Err: db.ErrIO}
	for name, c := range map[string]struct {
		at   journal.Kind // in the commit that fails
		kept bool
		err  error
	}{
		"start, disk full":    {journal.KindCallStarted, false, db.ErrDiskFull},
		"start, disk failing": {journal.KindCallStarted, false, db.ErrIO},
		"start, store closed": {journal.KindCallStarted, false, db.ErrClosed},
		"start, corrupt":      {journal.KindCallStarted, false, &db.CorruptError{Run: "r", Seq: 4, What: "differs"}},
		"start, not kept":     {journal.KindCallStarted, false, unknown},
		"start, kept":         {journal.KindCallStarted, true, unknown},
		"result, disk full":   {journal.KindCallSettled, false, db.ErrDiskFull},
		"result, not kept":    {journal.KindCallSettled, false, unknown},
		"result, kept":        {journal.KindCallSettled, true, unknown},
	} {
		t.Run(name, func(t *testing.T) { commitFails(t, c.at, c.kept, c.err) })
	}
}

func commitFails(t *testing.T, at journal.Kind, kept bool, failure error) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.failsAt(at, kept, failure)
		out, err := s.start(s.t.Context())
		if !errors.Is(err, failure) {
			t.Errorf("the run ends with %v", err)
		}
		if out.Status != recovery.StatusInterrupted || out.Cause != journal.CauseFailing {
			t.Errorf("the run is %s (%s)", out.Status, out.Cause)
		}
		wrote, before := 2, 0 // creation, and the commit that failed
		if at == journal.KindCallSettled {
			wrote, before = 3, 1
		}
		if acts.acted != before || s.journal.wrote != wrote {
			t.Errorf("%d calls and %d commits", acts.acted, s.journal.wrote)
		}
		s.heals()
		if at == journal.KindCallStarted && !kept {
			s.model.lines = []line{calls("acts")} // its answer is not on record: it is asked again
		}
		s.wants(s.resume(), recovery.StatusCompleted, "")
		executed, outcome := 1, journal.OutcomeOK
		switch {
		case at == journal.KindCallStarted && kept:
			executed, outcome = 0, journal.OutcomeUnknown // its start is on record: nobody knows, so nobody repeats it
		case at == journal.KindCallSettled && !kept:
			outcome = journal.OutcomeUnknown
		}
		if got := s.call(0).Result.Outcome; acts.acted != executed || got != outcome {
			t.Errorf("%d executions, outcome %s", acts.acted, got)
		}
	})
}

// A call that no runner carries and that was not begun since the disk is full is recorded as such:
// the next process has no other way to know it, and would have to call its outcome unknown.
func TestStoryDiskFullBeforeTheCall(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.failsAt(journal.KindCallStarted, false, errCrash)
		if _, err := s.start(s.t.Context()); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		s.heals()
		s.model.lines = []line{calls("acts")}
		out, err := s.claim(s.t.Context(), s.created.Run, s.unredacted, func(ctx context.Context, d *driver) error {
			s.journal.before = func(facts []journal.Event) {
				if holds(facts, journal.KindCallStarted) {
					d.calls.full = errDiskFull // this commit had the room of the ballast
				}
			}
			return d.claimed(ctx, Changes{})
		})
		if err != nil {
			t.Fatal(err)
		}
		s.journal.before = nil
		s.wants(out, recovery.StatusInterrupted, journal.CauseFailing)
		if r := s.call(0).Result; acts.acted != 0 || r == nil || r.Outcome != journal.OutcomeError || r.Applied != journal.AppliedNo {
			t.Errorf("%d executions, result %+v", acts.acted, r)
		}
		s.wants(s.resume(), recovery.StatusCompleted, "")
	})
}

// Whoever watches is shown a fact once it is on the disk, and not before.
func TestStoryNothingIsShownBeforeItIsRecorded(t *testing.T) {
	story(t, []line{calls("acts")}, []tools.Tool{writes("acts")}, func(s *stage) {
		s.failsAt(journal.KindCallSettled, false, errCrash)
		if _, err := s.start(s.t.Context()); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if !slices.Contains(s.shown, journal.KindCallStarted) || slices.Contains(s.shown, journal.KindCallSettled) {
			t.Errorf("shown: %q", s.shown)
		}
	})
}

// The commit of a run's end is no exception: that it failed is reported, and what the next process
// finds is the truth. Nothing acts again (EX-23).
func TestStoryEndFails(t *testing.T) {
	for name, kept := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			acts, failure := writes("acts"), &db.CommitError{Err: db.ErrIO}
			story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
				s.failsAt(journal.KindRunCompleted, kept, failure)
				if out, err := s.start(s.t.Context()); !errors.Is(err, failure) || out.Status == recovery.StatusCompleted {
					t.Errorf("the run is %s: %v", out.Status, err)
				}
				s.heals()
				if !kept {
					s.wants(s.resume(), recovery.StatusCompleted, "")
				}
				if state, err := s.State(s.t.Context(), s.created.Run); err != nil || state.Status != recovery.StatusCompleted || acts.acted != 1 {
					t.Errorf("%v, %d executions", err, acts.acted)
				}
			})
		})
	}
}

// After a commit that failed nothing is written, whoever asks for it.
func TestStoryNothingAfterAFailure(t *testing.T) {
	story(t, nil, nil, func(s *stage) {
		s.failsAt(journal.KindTurnSettled, false, errCrash)
		if _, err := s.start(s.t.Context()); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		s.heals()
		d, err := s.open(s.t.Context(), s.created.Run, s.unredacted, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		d.dead = errCrash
		d.record(journal.RunNoted{Text: "too late"})
		wrote := s.journal.wrote
		if err := d.calls.flush(s.t.Context()); !errors.Is(err, errCrash) || s.journal.wrote != wrote {
			t.Errorf("%v after %d commits", err, s.journal.wrote-wrote)
		}
	})
}

// A run that could not be created was never there: no outcome, no call, and the error says why.
// EX-30.
func TestStoryCreationFails(t *testing.T) {
	story(t, nil, nil, func(s *stage) {
		s.failsAt(journal.KindRunCreated, false, db.ErrDiskFull)
		out, err := s.start(s.t.Context())
		if !errors.Is(err, db.ErrDiskFull) || out.Run != "" || len(s.model.asked) > 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// A database that others keep busy is waited for, and that is said: never silent, and no failure.
func TestStoryBusyDatabase(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		left := 3
		s.journal.fail = func(facts []journal.Event) (bool, error) {
			if holds(facts, journal.KindCallStarted) && left > 0 {
				left--
				return false, db.ErrBusy
			}
			return false, nil
		}
		s.wants(s.mustStart(), recovery.StatusCompleted, "")
		if acts.acted != 1 || left != 0 || !s.said("keep the database locked") {
			t.Errorf("%d calls, %q", acts.acted, s.notes)
		}
	})
}

// A database whose files are no longer those of the folder: the run stops and names what happened
// that nobody will find recorded.
func TestStoryRecordGone(t *testing.T) {
	acts := writes("acts")
	story(t, []line{calls("acts")}, []tools.Tool{acts}, func(s *stage) {
		s.failsAt(journal.KindCallSettled, false, &db.GoneError{Path: "agent.db", What: "was removed"})
		out, err := s.start(s.t.Context())
		var lost *RecordLostError
		if !errors.As(err, &lost) || !strings.Contains(strings.Join(lost.Facts, "; "), "ran, with the outcome ok") || out.Run != "" {
			t.Errorf("%+v, %v", out, err)
		}
		if s.journal.wrote != 3 || len(s.model.asked) != 1 {
			t.Errorf("%d commits, %d requests", s.journal.wrote, len(s.model.asked))
		}
	})
}
