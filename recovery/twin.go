package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
)

// twin is the twin guard: what keeps the call from starting because an earlier call of its thread
// may have done the same; nil when nothing does. A person is asked, unless what was said in this
// run about the earlier call answers it.
func (s guard) twin(c *Call, alike comparison) Action {
	var first *journal.Unknown
	for _, u := range s.doubts.list() {
		if u.ID != c.ID && !s.passes(c, &u) && alike(&u) && (first == nil || s.urgency(&u) > s.urgency(first)) {
			first = &u
		}
	}
	switch {
	case first == nil:
		return nil
	case s.urgency(first) > 0:
		return open(s.twinQuestion(c, *first), c)
	case first.Resolved == journal.WordHappened:
		return s.kept(c, *first, journal.WordHappened, first.By)
	case first.Done && s.answers[first.ID].word == journal.WordHappened:
		return s.kept(c, *first, journal.WordHappened, s.answers[first.ID].by)
	}
	return s.kept(c, *first, journal.WordStop, s.answers[first.ID].by)
}

// passes says that a call may do again what is known to have happened: a rule of the person names
// it, or the person has had it done again in this run.
func (s guard) passes(c *Call, u *journal.Unknown) bool { return u.Done && (c.Named || s.again(u)) }

// answeredTwin takes an answer to the twin guard.
func (s *State) answeredTwin(c *Call, r *journal.Request, text, who string) {
	first := s.byID(r.About)
	c.Twin, c.twin, c.twinBy = wordOf(r, text), &first, who
	if c.Twin == journal.WordRun {
		c.Approved = s.binding(r)
	}
	becomes := c.Twin == journal.WordRun || c.Twin == journal.WordHappened && s.aboutWas != journal.WordHappened
	if first.Done || !becomes { // else the answer becomes a fact about the first
		s.remember(r.About, said{c.Twin, who})
	}
}

// Superseded says whether the open question of the twin guard needs no answer any more: meanwhile a
// person said what became of the first call, or it was run once more with success.
func Superseded(s *State) (journal.RequestClosed, bool) {
	r := s.Open
	if r == nil || r.Kind != journal.RequestTwin || s.aboutWas == journal.WordHappened {
		return journal.RequestClosed{}, false
	}
	switch u := s.byID(r.About); {
	case u.Run == "":
		return journal.RequestClosed{ID: r.ID, Status: "cancelled", Reason: "the outcome of call " + r.About + " is known now"}, true
	case u.Resolved == journal.WordHappened:
		return journal.RequestClosed{ID: r.ID, Status: "cancelled", Reason: by(u.By) + " says that call " + u.ID + " happened"}, true
	}
	return journal.RequestClosed{}, false
}

// closedTwin says whether the end of a question of the twin guard follows from what became of the
// first call, and lets the call go on accordingly.
func (s *State) closedTwin(c *Call, r *journal.Request) bool {
	if r.Kind != journal.RequestTwin || s.aboutWas == journal.WordHappened {
		return false
	}
	u := s.byID(r.About)
	if u.Resolved == journal.WordHappened {
		c.Twin, c.twin, c.twinBy = journal.WordHappened, &u, u.By
	}
	return u.Run == "" || u.Resolved == journal.WordHappened
}

// answeredNo carries out an answer to the twin guard that keeps the call from running, whatever
// became of the first call since.
func (s guard) answeredNo(c *Call) Action {
	action := s.kept(c, *c.twin, c.Twin, c.twinBy)
	now := s.byID(c.twin.ID)
	word := journal.WordLeave
	if c.Twin == journal.WordHappened {
		word = journal.WordHappened
	}
	if now.Run == "" || now.Done || now.Resolved == word || now.Resolved == journal.WordHappened {
		return action
	}
	return Record{append([]journal.Body{s.resolution(now, word, c.twinBy)}, action.Facts...)}
}

// kept settles a call that does not run because of what a person says about the first one.
func (s guard) kept(c *Call, first journal.Unknown, w journal.Word, who string) Record {
	covered := s.covers(first, c)
	if first.Done {
		return done(c, first, w, who, covered)
	}
	text := "the same call, " + first.ID + ","
	if !covered {
		text = "it would do again what call " + first.ID + " does, which"
	}
	if first.StartedAt.IsZero() {
		text += " was started before, "
	} else {
		text += " was started at " + stamp(first.StartedAt) + ", "
	}
	switch {
	case w == journal.WordStop:
		return told(c, journal.OutcomeDenied, text+"its outcome is unknown, and "+by(who)+" says to leave it and to ask no more in this run")
	case w != journal.WordHappened:
		return told(c, journal.OutcomeDenied, text+"its outcome is unknown, and "+by(who)+" says to leave it")
	case !covered:
		return told(c, journal.OutcomeSkipped, text+"and "+by(who)+" says that this happened. Nothing else of this call was done either: ask for the rest alone")
	}
	return told(c, journal.OutcomeOK, text+"and "+by(who)+" says that it happened")
}

// done settles a call that does not run because the first one happened, and was taken out of the
// conversation since.
func done(c *Call, first journal.Unknown, w journal.Word, who string, covered bool) Record {
	text := fmt.Sprintf("call %s of run %s, which was started at %s, did the same, and happened; then the conversation went back to before it",
		first.ID, first.Run, stamp(first.StartedAt))
	switch {
	case w == journal.WordStop:
		return told(c, journal.OutcomeDenied, text+". "+by(who)+" says to leave it at that and to ask no more in this run")
	case w != journal.WordHappened:
		return told(c, journal.OutcomeDenied, text+". "+by(who)+" says to leave it at that")
	}
	outcome := first.Outcome
	if outcome != journal.OutcomeError {
		outcome = journal.OutcomeOK
	}
	if !covered {
		outcome, text = journal.OutcomeSkipped, text+". Nothing else of this call was done: ask for the rest alone"
	}
	return told(c, outcome, text+". What it gave then:\n"+first.Content)
}

// settledByRun is the end of the doubt about earlier calls: a person said to run the call all the
// same, and it did what they do. Later calls that do the same follow the ordinary rules.
func (s guard) settledByRun(c *Call) Action {
	if c.Twin != journal.WordRun || c.Result.Outcome != journal.OutcomeOK {
		return nil
	}
	var facts []journal.Body
	alike := s.acting(c)
	for _, u := range s.doubts.list() {
		if u.ID != c.ID && !u.Done && (u.ID == c.twin.ID || alike(&u)) {
			facts = append(facts, s.resolution(u, journal.WordRun, c.twinBy))
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return Record{facts}
}

// openDoubts lists, for a question about permission, the calls of the thread whose outcome is
// unknown.
func (s guard) openDoubts() string {
	var b strings.Builder
	for _, u := range s.doubts.list() {
		if u.Resolved != journal.WordHappened && !u.Done {
			b.WriteString("\n  call " + u.ID + " (" + u.Tool + "), started at " + stamp(u.StartedAt))
			if args := Describe(u.Args); len(u.Args) > 0 && args != "" {
				b.WriteString("\n  " + strings.ReplaceAll(brief(args), "\n", "\n  "))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nof unknown outcome in this thread; it may or may not have happened:" + b.String()
}
