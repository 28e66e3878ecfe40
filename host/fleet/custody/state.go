package custody

import (
	"slices"
	"time"
)

// DefaultAway is how long a silent host keeps a run, unless the run says otherwise.
const DefaultAway = 5 * time.Minute

const (
	startLimit  = 2 * time.Minute  // for a host to take up a Drive
	beatLimit   = 20 * time.Second // between two heartbeats
	chance      = 10 * time.Second // for a silent host to take up a Drive, at the least
	exclusion   = 10 * time.Minute // for which a host that lost or refused a run is not offered it
	namedLimit  = time.Minute      // for a host that a move names to take the run
	otherLimit  = time.Minute      // for another host to take a run whose host has no log
	cancelLimit = time.Minute      // of silence, after which a cancelled run's host is fenced
	mostTries   = 3                // without progress, after which a run is parked

	// bookkeeping is how many facts an attempt records that comes to nothing: a claim, an
	// interruption, and what stands around them.
	bookkeeping = 4
)

// Phase is what a custody is busy with.
type Phase string

// The phases.
const (
	Queued  Phase = "queued"  // the run is offered to hosts
	Driven  Phase = "driven"  // a host drives it, or is asked to
	Asked   Phase = "asked"   // a question is open
	Paused  Phase = "paused"  // until a time
	Parked  Phase = "parked"  // until a person wants it to go on
	Fencing Phase = "fencing" // the host that had it is shut out
	Ended   Phase = "ended"
)

// Excluded is a host that is not offered the run for a time.
type Excluded struct {
	Host  string    `json:"host"`
	Why   string    `json:"why"`
	Until time.Time `json:"until"`
}

// State is everything that the custody of a run knows. It is a value: [State.On] makes the next one
// of it, and [State.Action] says what is to be carried out meanwhile.
type State struct {
	Run   Run       `json:"run"`
	Phase Phase     `json:"phase"`
	Act   int64     `json:"act"`   // counts the actions: a new number is a new action
	Since time.Time `json:"since"` // of the phase

	placing
	Cancel bool `json:"cancel,omitempty"`
	Urged  bool `json:"urged,omitempty"` // a person had it go on, and nothing has come of that yet
	asking
	Until *time.Time `json:"until,omitempty"` // the end of a pause

	Silence   Duration   `json:"silence,omitempty"` // of the host
	SilentAt  *time.Time `json:"silent_at,omitempty"`
	Facts     int64      `json:"facts,omitempty"`
	Turn      int        `json:"turn,omitempty"`
	Fruitless int        `json:"fruitless,omitempty"` // attempts in a row
	Retries   int        `json:"retries,omitempty"`   // pauses in a row
	Reason    string     `json:"reason,omitempty"`
	Report    *Report    `json:"report,omitempty"` // the last one
}

// placing is what is known of where a run is, and where it is to go.
type placing struct {
	Host   string     `json:"host,omitempty"`
	Had    bool       `json:"had,omitempty"`    // a host was asked to drive it
	Begun  bool       `json:"begun,omitempty"`  // there are facts of it
	Logged bool       `json:"logged,omitempty"` // in the log
	To     string     `json:"to,omitempty"`     // the host that a move named
	Named  bool       `json:"named,omitempty"`  // a move named it while no host had the run: it is shown
	Back   string     `json:"back,omitempty"`   // the host that has it again if no other takes it
	Moving bool       `json:"moving,omitempty"` // its host is asked to hand it over
	Gone   bool       `json:"gone,omitempty"`   // its host is to be shut out
	Not    []Excluded `json:"not,omitempty"`
}

// asking is what is known of the questions of a run.
type asking struct {
	Request  *Request `json:"request,omitempty"`  // the open one
	Answer   *Answer  `json:"answer,omitempty"`   // accepted, and not yet taken by a host
	Answered []Answer `json:"answered,omitempty"` // the newest last
	Refused  int      `json:"refused,omitempty"`  // answers that a host could not take
	Asked    []string `json:"asked,omitempty"`    // ids of questions, the newest last
}

// kept is how many answered questions a custody remembers.
const kept = 50

// New begins the custody of a run.
func New(r Run, at time.Time) State {
	if r.Was != nil {
		return *r.Was
	}
	return State{Run: r, Phase: Queued, Act: 1, Since: at}
}

func (r Run) away() Duration {
	switch {
	case r.Away == 0:
		return DefaultAway
	case r.Away < 0:
		return 0
	}
	return r.Away
}

// enter begins a new action in a phase.
func (s State) enter(p Phase, at time.Time) State {
	if p != s.Phase {
		s.Since = at
	}
	s.Phase, s.Until = p, nil
	s.Act++
	return s
}

// goOn has the run driven by its host, or offers it where it has none. A run that was on hosts and
// is on none is cancelled in the log.
func (s State) goOn(at time.Time) State {
	switch {
	case s.Gone, s.Cancel && s.Had && s.Host == "":
		return s.enter(Fencing, at)
	case s.Host == "":
		return s.enter(Queued, at)
	}
	s.Had, s.Reason = true, ""
	return s.enter(Driven, at)
}

func (s State) pause(at time.Time, d Duration, why string) State {
	s = s.enter(Paused, at)
	until := at.Add(d)
	s.Until, s.Reason = &until, why
	return s
}

func (s State) park(at time.Time, why string) State {
	s.Reason, s.Moving = why, false
	return s.enter(Parked, at)
}

// leave takes the run from its host, which is not offered it for a time.
func (s State) leave(at time.Time, why string) State {
	s.placing = s.readmit(at, s.Host)
	if s.Host != "" {
		s.Not = append(s.Not, Excluded{Host: s.Host, Why: why, Until: at.Add(exclusion)})
	}
	if s.To == s.Host {
		s.To = ""
	}
	s.Host, s.Moving, s.Gone, s.Named = "", false, false, false
	s.Silence, s.SilentAt = 0, nil
	return s
}

// readmit ends the exclusion of a host, and of those whose time is over.
func (p placing) readmit(at time.Time, host string) placing {
	p.Not = slices.DeleteFunc(slices.Clone(p.Not), func(x Excluded) bool { return x.Host == host || !x.Until.After(at) })
	return p
}

// first gives the answer that a question had.
func (q asking) first(request string) (Answer, bool) {
	i := slices.IndexFunc(q.Answered, func(a Answer) bool { return a.Request == request })
	if i < 0 {
		return Answer{}, false
	}
	return q.Answered[i], true
}
