package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"time"
)

// restored takes note that the run may have gone further than its journal says. What a person
// allowed before was allowed without that knowledge.
func (s *State) restored(at time.Time, b journal.RunRestored) {
	s.Cause, s.Detail, s.RestoredAt, s.Moved, s.Back = journal.CauseRestored, b.Reason, at, nil, &b
	if b.Folder != "" {
		s.Created.Folder = b.Folder
	}
	if b.Pack != "" {
		s.Created.Dirs = nil // they were named by a person of another machine, or by who made the pack
	}
	for _, c := range s.Turns.current().calls() {
		if c.Phase == journal.PhaseStarted && b.Pack != "" {
			c.copied = true // what tells how far it came stayed where it was started
		}
	}
	if b.Nothing { // after this copy; what is open about an earlier one stays open
		return
	}
	s.Restored, s.stale = true, s.Open
	for _, c := range s.Turns.current().calls() {
		if c.Phase != journal.PhaseSettled {
			c.Approved, c.copied = "", true
		}
	}
}

// trusts ends the guard: a person says that nothing happened that the journal does not have.
func trusts(s *State) {
	s.Restored, s.stale = false, nil
	for _, c := range s.Turns.current().calls() {
		c.copied = false
	}
}

// binding is what a yes to the request lets act. A yes to a question from before the run was
// restored lets nothing act: the call is asked about afresh, and that question says why.
func (s *State) binding(r *journal.Request) string {
	if r == s.stale {
		return ""
	}
	return r.Binding
}

// askRestored is why a call that acts is asked about in a restored run. Absence from its journal
// proves nothing.
const askRestored = "the database was restored, and this run may have gone further than it says: this may have happened already"

// Copied says why what is missing beside the journal proves nothing about the call; "" where it
// was started since the run was restored, or the run never was.
func (c *Call) Copied() string {
	if !c.copied {
		return ""
	}
	return "the run was restored, and what is missing from a copy may have happened after it was made"
}

// copyQuestion asks what became of a call that acts in a restored run.
func (s guard) copyQuestion(c *Call, why string) Record {
	at := c.Place
	r := journal.Request{Call: &at, Question: journal.Question{
		Kind:    journal.RequestCopy,
		Message: fmt.Sprintf("%s wants to act (%s):\n%s", c.Tool, why, describeCall(c.Tool, c.Args)) + s.openDoubts(),
	}}
	for _, o := range []struct {
		word journal.Word
		hint string
	}{
		{journal.WordHappened, "it happened after the copy was made: settles it as done and does not run it"},
		{journal.WordRun, "it did not: runs it once now (yes means this)"},
		{journal.WordLeave, "does not run it and informs the model (no means this)"},
		{journal.WordClear, "nothing of this run happened after the copy was made: runs it, and ends these questions in this run"},
	} {
		r.Choices, r.Hints = append(r.Choices, string(o.word)), append(r.Hints, o.hint)
	}
	r.Schema = oneOf(r.Choices)
	return Record{[]journal.Body{journal.RequestOpened{Request: r}}}
}

// answeredCopy takes an answer to it.
func answeredCopy(s *State, c *Call, r *journal.Request, text, who string) {
	switch w := journal.Word(text); w {
	case journal.WordRun, journal.AnswerYes:
		c.Approved = s.binding(r)
	case journal.WordClear:
		c.Approved = s.binding(r)
		trusts(s)
	case journal.WordHappened:
		c.Copy, c.copyBy = w, who
	default:
		c.Denied = by(who) + " says to leave it: it may have happened already, after a copy was made of which this run is a part"
	}
}

// happenedSince settles a call of which a person says that it happened after the copy was made.
func happenedSince(c *Call) Record {
	return told(c, journal.OutcomeOK, "the record of this run was restored from a copy, and "+by(c.copyBy)+" says that this happened after the copy was made")
}
