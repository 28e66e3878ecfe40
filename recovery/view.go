package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
	"time"
)

// current is the last turn that the model answered; nil before the first.
func (s *State) current() *Turn {
	if len(s.Turns) == 0 {
		return nil
	}
	return s.Turns[len(s.Turns)-1]
}

func (t *Turn) calls() []*Call {
	if t == nil {
		return nil
	}
	return t.Calls
}

func (t *Turn) done() bool { return t == nil || t.Settled }

// Call finds a call by its place; the attempt does not count.
func (s *State) Call(p journal.Place) (*Call, error) {
	if p.Turn < 1 || p.Turn > len(s.Turns) {
		return nil, fmt.Errorf("call %s: there is no such turn", p)
	}
	t := s.Turns[p.Turn-1]
	if p.Index < 0 || p.Index >= len(t.Calls) {
		return nil, fmt.Errorf("call %s: there is no such call in the turn", p)
	}
	return t.Calls[p.Index], nil
}

// CallByID finds a call by its id; nil when the run has none.
func (s *State) CallByID(id string) *Call {
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// TurnsLeft is what is left of the turn budget; -1 without a limit.
func (s *State) TurnsLeft() int {
	if s.Limits.MaxTurns == 0 {
		return -1
	}
	return max(0, s.Limits.MaxTurns-(len(s.Turns)-s.grantedAt))
}

// Spent is the time in which the run was going, up to now: what a time limit is compared with.
func (s *State) Spent(now time.Time) time.Duration {
	if s.Status == StatusRunning && now.After(s.last) {
		return s.Active + now.Sub(s.last)
	}
	return s.Active
}

// Unsettled lists the calls of the last turn that have no result, in the model's order.
func (s *State) Unsettled() []*Call {
	var out []*Call
	for _, c := range s.current().calls() {
		if c.Phase != journal.PhaseSettled {
			out = append(out, c)
		}
	}
	return out
}

// InFlight lists the calls that were started or picked up again under the present owner.
func (s *State) InFlight() []*Call {
	var out []*Call
	for _, c := range s.current().calls() {
		if s.flies(c) {
			out = append(out, c)
		}
	}
	return out
}

// Lost lists the calls that an earlier owner started and left without a result, and that still have none: nothing was
// decided about them yet, or not carried out.
func (s *State) Lost() []*Call {
	var out []*Call
	for _, c := range s.current().calls() {
		if c.Phase == journal.PhaseStarted && !s.flies(c) {
			out = append(out, c)
		}
	}
	return out
}

func (s *State) flies(c *Call) bool {
	return c.Phase == journal.PhaseStarted && (c.Epoch == s.Epoch || c.Judged == journal.VerdictAttach)
}

// UnknownCalls lists the run's calls whose outcome is unknown, those included that a person said to leave so.
func (s *State) UnknownCalls() []*Call { return slices.Clone(s.unknown) }

// Unknown says whether the call's outcome is unknown and nothing settled it since: no person said that it happened, and it was not
// run once more with success.
func (c *Call) Unknown() bool {
	return c.Result != nil && c.Result.Outcome == journal.OutcomeUnknown && !c.Resolved.Settles()
}
