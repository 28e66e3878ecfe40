package recovery

import (
	"agent/recovery/journal"
	"slices"
)

// doubts is what the thread's calls of unknown outcome are, and what a person said of them.
type doubts struct {
	Inherited []journal.Unknown // what other runs of the thread left unknown, and what a person said of it

	runID     string
	unknown   []*Call                // calls of this run whose outcome is unknown, in their order
	happened  []*Call                // calls of this run of which a person said that they happened
	elsewhere []journal.CallResolved // what a person said from here about calls of other runs
	answers   map[string]said        // what was last answered in this run about an earlier call, by the call's id
	aboutWas  journal.Word           // what had been said, when it was opened, of the call that the open question is about
}

// said is what a person answered in this run when asked about an earlier call.
type said struct {
	word journal.Word
	by   string
}

// urgency orders the earlier calls about which could be asked; 0 is for those about which nobody is
// asked any more in this run.
func (s *doubts) urgency(u *journal.Unknown) int {
	said := s.answers[u.ID].word
	switch {
	case u.Done && (said == journal.WordHappened || said == journal.WordStop):
		return 0
	case u.Done:
		return 1
	case u.Resolved == journal.WordHappened && (said == journal.WordHappened || u.Alive), said == journal.WordStop:
		return 0
	case u.Resolved == journal.WordHappened:
		return 1
	case u.Alive: // running it once more is not offered, whatever else there is
		return 3
	}
	return 2
}

// list gives the calls of the thread that the guard compares with: those whose outcome is unknown
// and those of which a person said that they happened. This run's come first.
func (s *doubts) list() []journal.Unknown {
	if len(s.unknown)+len(s.happened) == 0 {
		return s.Inherited
	}
	out := make([]journal.Unknown, 0, len(s.unknown)+len(s.happened)+len(s.Inherited))
	for _, d := range slices.Concat(s.unknown, s.happened) {
		out = append(out, s.seen(d))
	}
	return append(out, s.Inherited...)
}

// seen is a call whose outcome is or was unknown, as another call sees it.
func (s *doubts) seen(d *Call) journal.Unknown {
	return journal.Unknown{
		Run: s.runID, ID: d.ID, Place: d.Place, Tool: d.Tool, Args: d.Args, Fingerprint: d.Fingerprint,
		StartedAt: d.StartedAt, Alive: len(d.Result.Alive) > 0, Resolved: d.Resolved, By: d.resolvedBy,
	}
}

// byID finds the call that a question is about; its id alone is left when it is in doubt no more.
func (s *doubts) byID(id string) journal.Unknown {
	for _, u := range s.list() {
		if u.ID == id {
			return u
		}
	}
	return journal.Unknown{ID: id}
}

// again says that a person has had the call run once more in this run although it happened: the
// model knows of it from then on.
func (s *doubts) again(u *journal.Unknown) bool {
	return u.Done && s.answers[u.ID].word == journal.WordRun
}

// Stands says whether a call happened that was taken out of the conversation of this run.
func (s *doubts) Stands() bool {
	return slices.ContainsFunc(s.Inherited, func(u journal.Unknown) bool { return u.Done })
}

// AsksUndecided says whether the open question is about a call, of this run or of an earlier one of
// its thread, whose outcome is unknown and on which no person has decided.
func AsksUndecided(s *State) bool {
	if s.Open == nil || s.Open.About == "" {
		return false
	}
	u := s.byID(s.Open.About)
	return u.Run != "" && u.Resolved == "" && !u.Done
}

// MayLive returns the call that a question is about when it is said of it that it may still be
// running.
func (s *doubts) MayLive(q journal.Question) (journal.Unknown, bool) {
	u := s.byID(q.About)
	return u, q.Kind == journal.RequestTwin && u.Alive
}

// gone takes note that nothing of a call runs any more: its outcome stays unknown, and running it
// once more can be offered.
func (s *doubts) gone(id string) {
	for _, c := range slices.Concat(s.unknown, s.happened) {
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

func (s *doubts) remember(id string, a said) {
	if s.answers == nil {
		s.answers = map[string]said{}
	}
	s.answers[id] = a
}

// resolution is the fact that a person said what became of a call.
func (s *doubts) resolution(u journal.Unknown, w journal.Word, who string) journal.CallResolved {
	r := journal.CallResolved{Place: u.Place, Word: w, By: who}
	if u.Run != s.runID {
		r.Run = u.Run
	}
	return r
}

// inherit takes over what other runs of the thread left, with what a person said about it here:
// those runs may not have it yet.
func (s *doubts) inherit(list []journal.Unknown) {
	s.Inherited = nil
	for _, u := range list {
		for _, b := range s.elsewhere {
			same := b.Run == u.Run && b.Turn == u.Place.Turn && b.Index == u.Place.Index
			if same && b.Word.Weight() >= u.Resolved.Weight() {
				u.Resolved, u.By = b.Word, b.By
			}
		}
		if u.Resolved != journal.WordRun {
			s.Inherited = append(s.Inherited, u)
		}
	}
}

// resolvedElsewhere takes what a person said from here about a call of another run.
func (s *doubts) resolvedElsewhere(b journal.CallResolved) {
	s.elsewhere = append(s.elsewhere, b)
	s.inherit(s.Inherited)
}

// settle ends the doubt about a call of this run.
func (s *doubts) settle(c *Call, w journal.Word) {
	other := func(d *Call) bool { return d == c }
	s.unknown, s.happened = slices.DeleteFunc(s.unknown, other), slices.DeleteFunc(s.happened, other)
	if w == journal.WordHappened {
		s.happened = append(s.happened, c)
	}
}

// UnknownCalls lists the run's calls whose outcome is unknown, those included that a person said to
// leave so.
func (s *doubts) UnknownCalls() []*Call { return slices.Clone(s.unknown) }

// Undecided lists the run's calls whose outcome is unknown and on which no person has decided, in
// their order. A run that has one is not done, however it ended.
func (s *doubts) Undecided() []*Call {
	var out []*Call
	for _, c := range s.unknown {
		if c.Resolved == "" {
			out = append(out, c)
		}
	}
	return out
}
