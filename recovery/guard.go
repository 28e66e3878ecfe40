package recovery

import "fmt"

// beforeStart is what stands between a call and its start; nil when it may start.
func (s *State) beforeStart(c *Call) Action {
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
	case WordHappened, WordLeave:
		return s.spared(c)
	default:
		if first := s.twin(c); first != nil {
			return open(twinQuestion(c, *first), c)
		}
	}
	if decision != DecisionAllow && c.Approved == "" {
		return permission(c, why)
	}
	return nil
}

// decision is what the permission rules said when the call was recorded, or what a mode that was tightened since says, if
// that is stricter. A decision that is not known is asked about.
func (s *State) decision(c *Call) (Decision, string) {
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

// twin finds a call of the thread with the same tool and fingerprint whose outcome is unknown: one that may still be running
// before any other, since running it once more is then not offered.
func (s *State) twin(c *Call) *Unknown {
	var first *Unknown
	for _, d := range s.unknown {
		if d == c || d.Tool != c.Tool || d.Fingerprint != c.Fingerprint {
			continue
		}
		if u := s.seen(d); first == nil || u.Alive && !first.Alive {
			first = &u
		}
	}
	for i := range s.Inherited {
		u := &s.Inherited[i]
		if u.Tool == c.Tool && u.Fingerprint == c.Fingerprint && (first == nil || u.Alive && !first.Alive) {
			first = u
		}
	}
	return first
}

// seen is a call whose outcome is unknown, as another call sees it.
func (s *State) seen(d *Call) Unknown {
	return Unknown{
		Run: s.Created.Run, ID: d.ID, Place: d.Place, Tool: d.Tool, Args: d.Args, Fingerprint: d.Fingerprint,
		StartedAt: d.StartedAt, Alive: len(d.Result.Alive) > 0,
	}
}

// MayLive returns the call that a question is about when it is said of it that it may still be running.
func (s *State) MayLive(q Question) (Unknown, bool) {
	u := s.unknownByID(q.About)
	return u, q.Kind == RequestTwin && u.Alive
}

// gone takes note that nothing of a call runs any more: its outcome stays unknown, and running it once more can be offered.
func (s *State) gone(id string) {
	for _, c := range s.unknown {
		if c.ID == id {
			c.Result.Alive = nil
		}
	}
	for i := range s.Inherited {
		if s.Inherited[i].ID == id {
			s.Inherited[i].Alive = false
		}
	}
}

// unknownByID finds the call that a question is about; its id alone is left when its outcome became known meanwhile.
func (s *State) unknownByID(id string) Unknown {
	for _, d := range s.unknown {
		if d.ID == id {
			return s.seen(d)
		}
	}
	for _, u := range s.Inherited {
		if u.ID == id {
			return u
		}
	}
	return Unknown{ID: id}
}

// stillUnknown says whether nobody settled the call since.
func (s *State) stillUnknown(u Unknown) bool {
	return u.Run != "" && s.unknownByID(u.ID).Run != ""
}

// spared carries out the answer about a twin that keeps the call from running, whatever became of the twin since.
func (s *State) spared(c *Call) Action {
	first := "the same call, " + c.twin.ID
	if !c.twin.StartedAt.IsZero() {
		first += ", was started at " + stamp(c.twin.StartedAt)
	} else {
		first += ", was started before"
	}
	if c.Twin == WordLeave {
		return told(c, OutcomeDenied, first+", its outcome is unknown, and "+by(c.twinBy)+" says to leave it")
	}
	facts := told(c, OutcomeOK, first+", and "+by(c.twinBy)+" says that it happened").Facts
	if s.stillUnknown(c.twin) {
		ruled := CallRuled{Place: c.twin.Place, Word: WordHappened, By: c.twinBy}
		if c.twin.Run != s.Created.Run {
			ruled.Run = c.twin.Run
		}
		facts = append([]Body{ruled}, facts...)
	}
	return Record{facts}
}

// NotRun settles a call that does not run, with the outcome and the reason that the model is told. One that an earlier owner
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
