package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Action is what a run needs next. The host performs it, records what happened and asks again; it
// decides nothing itself.
type Action interface{ action() }

// Record is facts that follow from what is there. The host records them and asks again; they need
// no effect.
type Record struct{ Facts []journal.Body }

// Start is calls that may act: each is prepared, recorded as started, and carried out once that is
// durable.
type Start struct{ Calls []*Call }

// Recover is calls that an earlier owner left without a result: the host gathers evidence and lets
// Judge decide.
type Recover struct{ Calls []*Call }

// Await is calls that are under way: their results come.
type Await struct{ Calls []*Call }

// StopCalls is calls that are under way and must end now.
type StopCalls struct {
	Calls  []*Call
	Reason string
}

// CallModel is a request to the model for the answer of a turn.
type CallModel struct {
	Turn      int
	NotBefore time.Time // zero: at once
}

// AskPerson is a question that stands: nothing goes on before its answer.
type AskPerson struct{ Request *journal.Request }

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
	if end, ok := Orphaned(s); ok {
		return Record{[]journal.Body{end}}
	}
	if lost := s.Lost(); len(lost) > 0 {
		return Recover{lost}
	}
	if s.Stopping != nil {
		return decider{s}.stop()
	}
	if s.Open != nil && s.Open.Kind == journal.RequestElicit {
		return AskPerson{s.Open}
	}
	if flying := s.InFlight(); len(flying) > 0 {
		if more := (decider{s}).beside(flying); len(more) > 0 {
			return Start{more}
		}
		return Await{flying}
	}
	if end, ok := Superseded(s); ok {
		return Record{[]journal.Body{end}}
	}
	if s.Open != nil {
		return AskPerson{s.Open}
	}
	if t := s.Turns.current(); !t.done() {
		return decider{s}.turn(t)
	}
	return decider{s}.afterTurn()
}

// Hears says whether a message of a person can be added now: between two answers of a model, while
// nobody is asked and the run is not to end.
func Hears(s *State) bool {
	t := s.Turns.current()
	return s.Status == StatusRunning && !s.Created.Authored && s.Stopping == nil && s.Open == nil && len(s.Lost()) == 0 && len(s.InFlight()) == 0 && (t == nil || t.done())
}

// decider says what a state needs; nothing of it changes.
type decider struct{ *State }

func (s decider) guard() guard { return guard(s) }

// turn goes on with the calls of an answered turn, in the model's order.
func (s decider) turn(t *Turn) Action {
	for i, c := range t.Calls {
		if c.Phase == journal.PhaseSettled {
			if a := s.guard().settledByRun(c); a != nil {
				return a
			}
			continue
		}
		if first := t.unknownBefore(i); first != nil {
			return notBehind(first, t.Calls[i:])
		}
		if a := s.guard().beforeStart(c); a != nil {
			return a
		}
		return Start{s.together(t.Calls[i:])}
	}
	return Record{[]journal.Body{s.checkpoint(t)}}
}

func (s decider) checkpoint(t *Turn) journal.TurnSettled {
	return journal.TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", s.Created.Run, t.N), TurnsLeft: max(0, s.TurnsLeft())}
}

// together takes the first call and, if it only reads, the reads right behind it that need no word
// of a person.
func (s decider) together(calls []*Call) []*Call {
	group := []*Call{calls[0]}
	if calls[0].Effect != journal.EffectRead {
		return group
	}
	for _, c := range calls[1:] {
		if c.Phase == journal.PhaseSettled {
			continue
		}
		if c.Effect != journal.EffectRead || s.guard().beforeStart(c) != nil {
			break
		}
		group = append(group, c)
	}
	return group
}

// beside are the reads that may begin while runs below carry others out: one that waits for a
// person must not keep its neighbours from beginning, which a crash may have left behind.
func (s decider) beside(flying []*Call) []*Call {
	if s.Open != nil || slices.ContainsFunc(flying, func(c *Call) bool { return c.Child == "" || c.Effect != journal.EffectRead }) {
		return nil
	}
	var more []*Call
	for _, c := range s.Turns.current().Calls {
		switch {
		case c.Phase == journal.PhaseSettled, slices.Contains(flying, c):
		case c.Effect != journal.EffectRead, c.Phase != journal.PhaseProposed, s.guard().beforeStart(c) != nil:
			return more
		default:
			more = append(more, c)
		}
	}
	return more
}

// afterTurn is what follows a settled turn, and what a run begins with.
func (s decider) afterTurn() Action {
	if said := s.toPlanner(); said != nil {
		return Record{[]journal.Body{said}}
	}
	if t := s.Turns.current(); t != nil && !s.shown.Unread(len(s.Turns)) {
		if end := s.lastWord(t); end != nil {
			return Record{[]journal.Body{end}}
		}
	}
	if s.limited != nil {
		return Record{[]journal.Body{s.limited}}
	}
	if s.Requested == len(s.Turns)+1 {
		return s.askModel()
	}
	if s.TurnsLeft() == 0 {
		return open(s.moreTurns(), nil)
	}
	if q, spent := s.used(s.Created.Setup.Price); spent {
		return open(q, nil)
	}
	return Record{[]journal.Body{journal.ModelRequested{}}}
}

// maxCuts is how many answers in a row may be cut off, or paused by the provider, without a whole
// call between.
const maxCuts = 4

// lastWord is the end of the run, where the answer is one.
func (s decider) lastWord(t *Turn) journal.Body {
	switch {
	case t.Stop == journal.AnswerFailed:
		return t.failure()
	case t.Stop == journal.AnswerRefuse:
		return t.refusal()
	case s.cuts >= maxCuts:
		return journal.RunFailed{Reason: fmt.Sprintf("the answer was cut off %d times in a row", s.cuts), Text: s.text()}
	case s.cuts > 0, len(t.Calls) > 0:
		return nil
	}
	return s.done()
}

// stop ends a run early: what runs is stopped, what never started is settled as that, and only then
// comes the terminal fact.
func (s decider) stop() Action {
	why := s.Stopping
	if s.Open != nil && s.Open.Kind == journal.RequestElicit {
		return Record{[]journal.Body{journal.RequestClosed{ID: s.Open.ID, Status: "cancelled", Reason: why.Reason}}}
	}
	if flying := s.InFlight(); len(flying) > 0 {
		return StopCalls{flying, why.Reason}
	}
	var facts []journal.Body
	if s.Open != nil {
		facts = append(facts, journal.RequestClosed{ID: s.Open.ID, Status: "cancelled", Reason: why.Reason})
	}
	for _, c := range s.Turns.Unsettled() {
		facts = append(facts, NotRun(c, journal.OutcomeSkipped, why.Reason))
	}
	if t := s.Turns.current(); !t.done() {
		facts = append(facts, s.checkpoint(t))
	}
	if why.Why == journal.StopCancelled {
		return Record{append(facts, journal.RunCancelled{By: why.By, Reason: why.Reason})}
	}
	return Record{append(facts, journal.RunFailed{Reason: why.Reason})}
}

// text is what the model said in the turn.
func (t *Turn) text() string {
	var parts []string
	for _, b := range t.Blocks {
		if b.Kind == journal.BlockText && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// text is the last answer, with the pieces before it from which it was cut off.
func (s decider) text() string {
	from := len(s.Turns) - 1
	for from > 0 && len(s.Turns[from-1].Calls) == 0 && !s.shown.AddedBefore(from+1) {
		from--
	}
	var b strings.Builder
	for _, t := range s.Turns[from:] {
		b.WriteString(t.text())
	}
	return b.String()
}

// refusal is the end of a run whose model, or provider, will not answer.
func (t *Turn) refusal() journal.RunFailed {
	return journal.RunFailed{Reason: "the model refused to answer", Text: strings.TrimSpace(t.text())}
}

// failure is the end of a run whose model says that what was asked cannot be done: its first line
// is the reason.
func (t *Turn) failure() journal.RunFailed {
	text := strings.TrimSpace(t.text())
	reason, _, _ := strings.Cut(text, "\n")
	if reason == "" {
		reason = "the model stopped without a reason"
	}
	return journal.RunFailed{Reason: reason, Text: text}
}
