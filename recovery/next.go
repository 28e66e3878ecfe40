package recovery

import (
	"fmt"
	"strings"
)

// Action is what a run needs next. The host performs it, records what happened and asks again; it decides nothing itself.
type Action interface{ action() }

// Record is facts that follow from what is there. The host records them and asks again; they need no effect.
type Record struct{ Facts []Body }

// Start is calls that may act: each is prepared, recorded as started, and carried out once that is durable.
type Start struct{ Calls []*Call }

// Recover is calls that an earlier owner left without a result: the host gathers evidence and lets Judge decide.
type Recover struct{ Calls []*Call }

// Await is calls that are under way: their results come.
type Await struct{ Calls []*Call }

// StopCalls is calls that are under way and must end now.
type StopCalls struct {
	Calls  []*Call
	Reason string
}

// CallModel is a request to the model for the answer of a turn.
type CallModel struct{ Turn int }

// AskPerson is a question that stands: nothing goes on before its answer.
type AskPerson struct{ Request *Request }

// Claim says that nobody drives the run: it must be claimed first.
type Claim struct{}

// Done says that the run is finished.
type Done struct{}

func (Record) action()    {}
func (Start) action()     {}
func (Recover) action()   {}
func (Await) action()     {}
func (StopCalls) action() {}
func (CallModel) action() {}
func (AskPerson) action() {}
func (Claim) action()     {}
func (Done) action()      {}

// Next says what the run needs. The same state gives the same action.
func Next(s *State) Action {
	switch s.Status {
	case StatusCompleted, StatusFailed, StatusCancelled:
		return Done{}
	case StatusNone, StatusQueued, StatusInterrupted:
		return Claim{}
	}
	if lost := s.Lost(); len(lost) > 0 {
		return Recover{lost}
	}
	if s.Stopping != nil {
		return s.stop()
	}
	if flying := s.InFlight(); len(flying) > 0 {
		return Await{flying}
	}
	if s.Open != nil {
		return AskPerson{s.Open}
	}
	if t := s.current(); !t.done() {
		return s.turn(t)
	}
	return s.afterTurn()
}

// turn goes on with the calls of an answered turn, in the model's order.
func (s *State) turn(t *Turn) Action {
	for i, c := range t.Calls {
		if c.Phase == PhaseSettled {
			continue
		}
		if a := s.beforeStart(c); a != nil {
			return a
		}
		return Start{s.together(t.Calls[i:])}
	}
	return Record{[]Body{TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", s.Created.Run, t.N), TurnsLeft: max(0, s.TurnsLeft())}}}
}

// together takes the first call and, if it only reads, the reads right behind it that need no word of a person.
func (s *State) together(calls []*Call) []*Call {
	group := []*Call{calls[0]}
	if calls[0].Effect != EffectRead {
		return group
	}
	for _, c := range calls[1:] {
		if c.Effect != EffectRead || c.Phase != PhaseProposed || s.beforeStart(c) != nil {
			break
		}
		group = append(group, c)
	}
	return group
}

// beforeStart is what stands between a call and its start; nil when it may start.
func (s *State) beforeStart(c *Call) Action {
	switch {
	case c.Invalid != "":
		return told(c, OutcomeError, "not executed: "+c.Invalid)
	case c.Denied != "":
		return told(c, OutcomeDenied, "not executed: "+c.Denied)
	case c.Question != nil && c.Reply != nil:
		return settle(c, Result{Outcome: OutcomeOK, Applied: AppliedYes, How: HowTold, Content: *c.Reply})
	case c.Question != nil:
		return open(*c.Question, c)
	case c.Decision == DecisionDeny:
		return told(c, OutcomeDenied, "not executed: "+c.Why)
	}
	if first := s.twin(c); first != nil && c.Twin != WordRun {
		return s.guard(c, *first)
	}
	if c.Decision == DecisionAsk && c.Approved == "" {
		return open(permission(c), c)
	}
	return nil
}

// twin finds a call of the thread with the same tool and fingerprint whose outcome is unknown.
func (s *State) twin(c *Call) *Unknown {
	for _, d := range s.UnknownCalls() {
		if d != c && d.Tool == c.Tool && d.Fingerprint == c.Fingerprint {
			return &Unknown{
				Run: s.Created.Run, ID: d.ID, Place: d.Place, Tool: d.Tool, Args: d.Args, Fingerprint: d.Fingerprint,
				StartedAt: d.StartedAt, Alive: len(d.Result.Alive) > 0,
			}
		}
	}
	for i, u := range s.Inherited {
		if u.Tool == c.Tool && u.Fingerprint == c.Fingerprint {
			return &s.Inherited[i]
		}
	}
	return nil
}

// guard keeps a call from starting while its twin's outcome is unknown, and carries out the answer about it.
func (s *State) guard(c *Call, first Unknown) Action {
	switch c.Twin {
	case WordHappened:
		ruled := CallRuled{Place: first.Place, Word: WordHappened, By: "answer"}
		if first.Run != s.Created.Run {
			ruled.Run = first.Run
		}
		text := fmt.Sprintf("not executed: the same call was started at %s and a person says that it happened", stamp(first.StartedAt))
		return Record{[]Body{ruled, CallSettled{
			Place: c.at(), Fingerprint: c.Fingerprint,
			Result: Result{Outcome: OutcomeOK, Applied: AppliedNo, How: HowTold, Content: text},
		}}}
	case WordLeave:
		text := fmt.Sprintf("not executed: the same call was started at %s, its outcome is unknown, and a person says to leave it", stamp(first.StartedAt))
		return told(c, OutcomeDenied, text)
	}
	return open(twinQuestion(c, first), c)
}

// afterTurn is what follows a settled turn, and what a run begins with.
func (s *State) afterTurn() Action {
	next := len(s.Turns) + 1
	if t := s.current(); t != nil {
		switch {
		case t.Stop == AnswerFailed:
			reason, _, _ := strings.Cut(t.text(), "\n")
			return Record{[]Body{RunFailed{Reason: reason, Text: t.text()}}}
		case len(t.Calls) == 0:
			return Record{[]Body{RunCompleted{Text: t.text()}}}
		}
	}
	if s.limitNo != "" {
		return Record{[]Body{RunCancelled{By: s.limitNo, Reason: "stopped at the turn limit: " + s.limitNo}}}
	}
	if s.Requested < next && s.TurnsLeft() == 0 {
		return open(maxTurns(s), nil)
	}
	if s.Requested < next {
		return Record{[]Body{ModelRequested{}}}
	}
	return CallModel{next}
}

// stop ends a run early: what runs is stopped, what never started is told so, and only then comes the terminal fact.
func (s *State) stop() Action {
	why := s.Stopping
	if flying := s.InFlight(); len(flying) > 0 {
		return StopCalls{flying, why.Reason}
	}
	var facts []Body
	if s.Open != nil {
		facts = append(facts, RequestClosed{ID: s.Open.ID, Status: "cancelled", Reason: why.Reason})
	}
	for _, c := range s.Unsettled() {
		facts = append(facts, CallSettled{Place: c.at(), Fingerprint: c.Fingerprint, Result: Result{
			Outcome: OutcomeSkipped, Applied: AppliedNo, How: HowTold, Content: "not executed: " + why.Reason,
		}})
	}
	if t := s.current(); !t.done() {
		facts = append(facts, TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", s.Created.Run, t.N), TurnsLeft: max(0, s.TurnsLeft())})
	}
	if why.Why == StopCancelled {
		return Record{append(facts, RunCancelled{By: why.By, Reason: why.Reason})}
	}
	return Record{append(facts, RunFailed{Reason: why.Reason})}
}

func open(q Question, c *Call) Action {
	r := Request{Question: q}
	if c != nil {
		at := c.at()
		r.Call = &at
	}
	return Record{[]Body{RequestOpened{r}}}
}

func settle(c *Call, r Result) Action {
	return Record{[]Body{CallSettled{Place: c.at(), Fingerprint: c.Fingerprint, Result: r}}}
}

func told(c *Call, o Outcome, text string) Action {
	return settle(c, Result{Outcome: o, Applied: AppliedNo, How: HowTold, Content: text})
}

func (c *Call) at() Place { return c.Place }

// text is what the model said in the turn.
func (t *Turn) text() string {
	var parts []string
	for _, b := range t.Blocks {
		if b.Kind == BlockText && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
