package recovery

import (
	"agent/recovery/journal"
	"slices"
	"strings"
)

// guard is the twin guard: what keeps the call from starting because an earlier call of its thread may have done the same; nil when
// nothing does. A person is asked, unless what was said in this run about the earlier call answers it.
func (s *State) guard(c *Call, alike comparison) Action {
	var first *journal.Unknown
	for _, u := range s.doubts() {
		if u.ID != c.ID && alike(&u) && (first == nil || s.urgency(&u) > s.urgency(first)) {
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
	}
	return s.kept(c, *first, journal.WordStop, s.answers[first.ID].by)
}

// urgency orders the earlier calls about which could be asked; 0 is for those about which nobody is asked any more in this run.
func (s *State) urgency(u *journal.Unknown) int {
	said := s.answers[u.ID].word
	switch {
	case u.Resolved == journal.WordHappened && (said == journal.WordHappened || u.Alive), said == journal.WordStop:
		return 0
	case u.Resolved == journal.WordHappened:
		return 1
	case u.Alive: // running it once more is not offered, whatever else there is
		return 3
	}
	return 2
}

// said is what a person answered in this run when asked about an earlier call.
type said struct {
	word journal.Word
	by   string
}

// doubts lists the calls of the thread that the guard compares with: those whose outcome is unknown and those of which a person
// said that they happened. This run's come first.
func (s *State) doubts() []journal.Unknown {
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
func (s *State) seen(d *Call) journal.Unknown {
	return journal.Unknown{
		Run: s.Created.Run, ID: d.ID, Place: d.Place, Tool: d.Tool, Args: d.Args, Fingerprint: d.Fingerprint,
		StartedAt: d.StartedAt, Alive: len(d.Result.Alive) > 0, Resolved: d.Resolved, By: d.resolvedBy,
	}
}

// doubtByID finds the call that a question is about; its id alone is left when it is in doubt no more.
func (s *State) doubtByID(id string) journal.Unknown {
	for _, u := range s.doubts() {
		if u.ID == id {
			return u
		}
	}
	return journal.Unknown{ID: id}
}

// MayLive returns the call that a question is about when it is said of it that it may still be running.
func (s *State) MayLive(q journal.Question) (journal.Unknown, bool) {
	u := s.doubtByID(q.About)
	return u, q.Kind == journal.RequestTwin && u.Alive
}

// gone takes note that nothing of a call runs any more: its outcome stays unknown, and running it once more can be offered.
func (s *State) gone(id string) {
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

// answeredTwin takes an answer to the twin guard.
func (s *State) answeredTwin(c *Call, r *journal.Request, text, who string) {
	first := s.doubtByID(r.About)
	c.Twin, c.twin, c.twinBy = wordOf(r, text), &first, who
	switch {
	case c.Twin == journal.WordRun:
		c.Approved = s.binding(r)
	case c.Twin != journal.WordHappened || s.aboutWas == journal.WordHappened: // else the answer becomes a fact about the first
		s.remember(r.About, said{c.Twin, who})
	}
}

func (s *State) remember(id string, a said) {
	if s.answers == nil {
		s.answers = map[string]said{}
	}
	s.answers[id] = a
}

// Superseded says whether the open question of the twin guard needs no answer any more: meanwhile a person said what became of the
// first call, or it was run once more with success.
func (s *State) Superseded() (journal.RequestClosed, bool) {
	r := s.Open
	if r == nil || r.Kind != journal.RequestTwin || s.aboutWas == journal.WordHappened {
		return journal.RequestClosed{}, false
	}
	switch u := s.doubtByID(r.About); {
	case u.Run == "":
		return journal.RequestClosed{ID: r.ID, Status: "cancelled", Reason: "the outcome of call " + r.About + " is known now"}, true
	case u.Resolved == journal.WordHappened:
		return journal.RequestClosed{ID: r.ID, Status: "cancelled", Reason: by(u.By) + " says that call " + u.ID + " happened"}, true
	}
	return journal.RequestClosed{}, false
}

// closedTwin says whether the end of a question of the twin guard follows from what became of the first call, and lets the call go
// on accordingly.
func (s *State) closedTwin(c *Call, r *journal.Request) bool {
	if r.Kind != journal.RequestTwin || s.aboutWas == journal.WordHappened {
		return false
	}
	u := s.doubtByID(r.About)
	if u.Resolved == journal.WordHappened {
		c.Twin, c.twin, c.twinBy = journal.WordHappened, &u, u.By
	}
	return u.Run == "" || u.Resolved == journal.WordHappened
}

// answeredNo carries out an answer to the twin guard that keeps the call from running, whatever became of the first call since.
func (s *State) answeredNo(c *Call) Action {
	action := s.kept(c, *c.twin, c.Twin, c.twinBy)
	now := s.doubtByID(c.twin.ID)
	word := journal.WordLeave
	if c.Twin == journal.WordHappened {
		word = journal.WordHappened
	}
	if now.Run == "" || now.Resolved == word || now.Resolved == journal.WordHappened {
		return action
	}
	return Record{append([]journal.Body{s.resolution(now, word, c.twinBy)}, action.Facts...)}
}

// resolution is the fact that a person said what became of a call.
func (s *State) resolution(u journal.Unknown, w journal.Word, who string) journal.CallResolved {
	r := journal.CallResolved{Place: u.Place, Word: w, By: who}
	if u.Run != s.Created.Run {
		r.Run = u.Run
	}
	return r
}

// kept settles a call that does not run because of what a person says about the first one.
func (s *State) kept(c *Call, first journal.Unknown, w journal.Word, who string) Record {
	covered := s.covers(first, c)
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

// settledByRun is the end of the doubt about earlier calls: a person said to run the call all the same, and it did what they do. Later
// calls that do the same follow the ordinary rules.
func (s *State) settledByRun(c *Call) Action {
	if c.Twin != journal.WordRun || c.Result.Outcome != journal.OutcomeOK {
		return nil
	}
	var facts []journal.Body
	alike := s.acting(c)
	for _, u := range s.doubts() {
		if u.ID != c.ID && (u.ID == c.twin.ID || alike(&u)) {
			facts = append(facts, s.resolution(u, journal.WordRun, c.twinBy))
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return Record{facts}
}

// openDoubts lists, for a question about permission, the calls of the thread whose outcome is unknown.
func (s *State) openDoubts() string {
	var b strings.Builder
	for _, u := range s.doubts() {
		if u.Resolved != journal.WordHappened {
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
