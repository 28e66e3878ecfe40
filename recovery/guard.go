package recovery

import "fmt"

// beforeStart is what stands between a call and its start; nil when it may start. The twin guard compares by what acts.
func (s *State) beforeStart(c *Call) Action { return s.before(c, s.acting(c)) }

// before is beforeStart with the comparison that the twin guard makes.
func (s *State) before(c *Call, alike comparison) Action {
	decision, why := s.decision(c)
	switch {
	case c.Invalid != "":
		return told(c, OutcomeError, c.Invalid)
	case c.Denied != "":
		return told(c, OutcomeDenied, c.Denied)
	case c.Question != nil && c.Reply != nil:
		r := Result{Outcome: OutcomeOK, Applied: AppliedYes, How: HowTold, Content: *c.Reply}
		return Record{[]Body{CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r}}}
	case c.Question != nil:
		return open(*c.Question, c)
	case decision == DecisionDeny:
		return told(c, OutcomeDenied, why)
	}
	switch c.Twin {
	case WordRun:
	case WordHappened, WordLeave, WordStop:
		return s.answeredNo(c)
	default:
		if a := s.guard(c, alike); a != nil {
			return a
		}
	}
	if decision != DecisionAllow && c.Approved == "" {
		return permission(c, why, s.openDoubts())
	}
	return nil
}

// decision is what the permission rules said when the call was recorded, or what a mode that was tightened since says, if
// that is stricter. A decision that is not known is asked about.
func (s *State) decision(c *Call) (Decision, string) {
	if d, why := s.byMode(c); !s.Restored || c.Effect == EffectRead || d == DecisionDeny {
		return d, why
	}
	return DecisionAsk, askRestored
}

func (s *State) byMode(c *Call) (Decision, string) {
	if s.Mode == c.mode || c.Decision == DecisionDeny || c.Effect == EffectRead {
		return c.Decision, c.Why
	}
	why := fmt.Sprintf("the mode was tightened to %s", s.Mode)
	switch {
	case s.Mode == ModePlan:
		return DecisionDeny, why
	case s.Created.Authored, s.Mode == ModeAuto && c.Effect == EffectWriteLocal, c.Decision != DecisionAllow:
		return c.Decision, c.Why
	}
	return DecisionAsk, why
}

// NotRun settles a call that does not run, with the outcome and the reason that the model is given. One that an earlier owner
// began and meant to run again may have happened all the same: its outcome is unknown, whatever is given here.
func NotRun(c *Call, o Outcome, why string) Body {
	r := Result{Outcome: o, Applied: AppliedNo, How: HowTold, Content: "not executed: " + why}
	if c.again != 0 {
		r.Outcome, r.Applied = OutcomeUnknown, AppliedUnknown
		r.Content = fmt.Sprintf("outcome unknown: %s was started at %s and its result was lost. It was not repeated: %s",
			c.Tool, stamp(c.StartedAt), why)
	}
	return CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r}
}

func told(c *Call, o Outcome, why string) Record { return Record{[]Body{NotRun(c, o, why)}} }

func open(q Question, c *Call) Record {
	r := Request{Question: q}
	if c != nil {
		at := c.Place
		r.Call = &at
	}
	return Record{[]Body{RequestOpened{r}}}
}
