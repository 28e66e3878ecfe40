package recovery

import (
	"agent/recovery/journal"
	"time"
)

// timing is how long the run was going.
type timing struct {
	Active time.Duration
	last   time.Time     // of the last fact
	idle   time.Duration // since an owner was last seen, while a call may have gone on
}

// pass counts the time in which the run was going: not while it waits, and not from a crash to the
// word about it, since nobody knows when it was. An owner that leaves of itself writes down when it
// does.
func (s *timing) pass(e journal.Event, from Status, alone bool) {
	k := e.Body.Kind()
	going := k != journal.KindRunClaimed
	if b, ok := e.Body.(journal.RunInterrupted); ok {
		going = b.Cause == journal.CauseShutdown || b.Cause == journal.CauseModel
	} else if k == journal.KindRunRestored {
		going = false
	}
	gap := e.Time.Sub(s.last)
	if b, ok := e.Body.(journal.RunNoted); ok {
		gap -= b.Clock
	}
	gap = max(0, gap)
	switch {
	case from == StatusRunning && going:
		s.Active += gap
	case from == StatusRunning, from == StatusInterrupted:
		s.idle += gap
	}
	s.charge(e, alone)
	s.last = e.Time
}

// charge counts the time without an owner in which a call went on by itself: a crash refills no
// budget. alone says that the fact picks such a call up.
func (s *timing) charge(e journal.Event, alone bool) {
	switch b := e.Body.(type) {
	case journal.CallJudged:
		if alone {
			s.Active, s.idle = s.Active+s.idle, 0
		}
	case journal.CallSettled:
		if b.Result.How == journal.HowAdopted {
			s.Active, s.idle = s.Active+min(s.idle, b.Result.Took), 0
		}
	case journal.CallStarted, journal.ModelRequested, journal.ModelAnswered:
		s.idle = 0
	}
}

// TimeLeft is what is left of the time limit, up to now; not limited where there is none, or where
// the run is ending anyway.
func (s *State) TimeLeft(now time.Time) (left time.Duration, limited bool) {
	limit := s.Limits.Timeout
	return limit - s.Spent(now), limit != 0 && s.Stopping == nil
}

// Spent is the time in which the run was going, up to now: what a time limit is compared with.
func (s *State) Spent(now time.Time) time.Duration {
	if s.Status == StatusRunning && now.After(s.last) {
		return s.Active + now.Sub(s.last)
	}
	return s.Active
}
