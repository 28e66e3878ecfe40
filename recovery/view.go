package recovery

import (
	"agent/recovery/journal"
	"fmt"
)

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

// InFlight lists the calls that were started or picked up again under the present owner.
func (s *State) InFlight() []*Call {
	var out []*Call
	for _, c := range s.Turns.current().calls() {
		if c.flies(s.Epoch) {
			out = append(out, c)
		}
	}
	return out
}

// Lost lists the calls that an earlier owner started and left without a result, and that still have
// none: nothing was decided about them yet, or not carried out.
func (s *State) Lost() []*Call {
	var out []*Call
	for _, c := range s.Turns.current().calls() {
		if c.Phase == journal.PhaseStarted && !c.flies(s.Epoch) {
			out = append(out, c)
		}
	}
	return out
}

func (c *Call) flies(epoch int64) bool {
	return c.Phase == journal.PhaseStarted && (c.Epoch == epoch || c.Judged == journal.VerdictAttach)
}

// Unknown says whether the call's outcome is unknown and nothing settled it since: no person said
// that it happened, and it was not run once more with success.
func (c *Call) Unknown() bool {
	return c.Result != nil && c.Result.Outcome == journal.OutcomeUnknown && !c.Resolved.Settles()
}
