package recovery

import (
	"agent/recovery/journal"
	"fmt"
)

// guard is what keeps a call from its start, seen from a state; nothing of it changes.
type guard struct{ *State }

// beforeStart is what stands between a call and its start; nil when it may start. The twin guard
// compares by what acts.
func (s guard) beforeStart(c *Call) Action { return s.before(c, s.acting(c)) }

// before is beforeStart with the comparison that the twin guard makes.
func (s guard) before(c *Call, alike comparison) Action {
	decision, why := s.decision(c)
	switch {
	case c.Invalid != "":
		return told(c, journal.OutcomeError, c.Invalid)
	case c.Denied != "":
		return told(c, journal.OutcomeDenied, c.Denied)
	case c.Question != nil && c.Reply != nil:
		r := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowTold, Content: *c.Reply}
		return Record{[]journal.Body{journal.CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r}}}
	case c.Question != nil:
		return open(*c.Question, c)
	case decision == journal.DecisionDeny:
		return told(c, journal.OutcomeDenied, why)
	}
	switch c.Twin {
	case journal.WordRun:
	case journal.WordHappened, journal.WordLeave, journal.WordStop:
		return s.answeredNo(c)
	default:
		if a := s.twin(c, alike); a != nil {
			return a
		}
	}
	switch {
	case c.Copy == journal.WordHappened:
		return happenedSince(c)
	case decision == journal.DecisionAllow || c.Approved != "":
		return nil
	case s.Restored && c.Effect != journal.EffectRead:
		return s.copyQuestion(c, why)
	}
	return permission(c, why, s.openDoubts())
}

// decision is what the permission rules said when the call was recorded, or what a mode that was
// tightened since says, if that is stricter. A decision that is not known is asked about.
func (s guard) decision(c *Call) (journal.Decision, string) {
	if d, why := s.byMode(c); !s.Restored || c.Effect == journal.EffectRead || d == journal.DecisionDeny {
		return d, why
	}
	return journal.DecisionAsk, askRestored
}

func (s guard) byMode(c *Call) (journal.Decision, string) {
	if s.Mode == c.mode || c.Decision == journal.DecisionDeny || c.Effect == journal.EffectRead {
		return c.Decision, c.Why
	}
	why := fmt.Sprintf("the mode was tightened to %s", s.Mode)
	switch {
	case s.Mode == journal.ModePlan:
		return journal.DecisionDeny, why
	case s.Created.Authored, s.Mode == journal.ModeAuto && c.Effect == journal.EffectWriteLocal, c.Decision != journal.DecisionAllow:
		return c.Decision, c.Why
	}
	return journal.DecisionAsk, why
}

// NotRun settles a call that does not run, with the outcome and the reason that the model is given.
// One that an earlier owner began and meant to run again may have happened all the same: its
// outcome is unknown, whatever is given here.
func NotRun(c *Call, o journal.Outcome, why string) journal.Body {
	r := journal.Result{Outcome: o, Applied: journal.AppliedNo, How: journal.HowTold, Content: "not executed: " + why}
	if c.again != 0 {
		r.Outcome, r.Applied = journal.OutcomeUnknown, journal.AppliedUnknown
		r.Content = fmt.Sprintf("outcome unknown: %s was started at %s and its result was lost. It was not repeated: %s",
			c.Tool, stamp(c.StartedAt), why)
	}
	return journal.CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r}
}

func told(c *Call, o journal.Outcome, why string) Record {
	return Record{[]journal.Body{NotRun(c, o, why)}}
}

func open(q journal.Question, c *Call) Record {
	r := journal.Request{Question: q}
	if c != nil {
		at := c.Place
		r.Call = &at
	}
	return Record{[]journal.Body{journal.RequestOpened{Request: r}}}
}
