package model

// Calls is how many calls with an effect the run has, and Owners how often it is taken over.
const (
	Calls  = 3
	Owners = 3
)

// Variant is a rule by which drivers keep the log.
type Variant int

// The rules. Only the last one keeps an effect from happening twice.
const (
	Async  Variant = iota // the effect comes first, and the log follows
	Lease                 // a driver looks that nobody claimed the run since, and acts
	Plain                 // the start is written before the effect, without a condition
	Append                // the start is appended at the place after all that the driver has seen
)

// The kinds of entries.
const (
	claim   = 'c'
	start   = 's'
	result  = 'r'
	unknown = 'u'
)

// The steps of a driver.
const (
	idle = iota
	claiming
	fold // it knows the log up to what it has seen, and decides
	intent
	effect
	after
	fenced
	end
)

type entry struct{ kind, epoch, call byte }

type owner struct{ step, epoch, seen, call byte }

// state is one of the whole world.
type state struct {
	log     string // of entries, so that states can be compared
	owners  [Owners]owner
	effects [Calls]byte
}

func (s *state) size() byte { return byte(len(s.log) / 3) }

func (s *state) entry(i byte) entry { return entry{s.log[3*i], s.log[3*i+1], s.log[3*i+2]} }

// Result is what the walk found.
type Result struct {
	States int
	Twice  bool           // an effect happened twice
	Log    string         // in the state in which it did
	Ends   map[string]int // how often each effect happened where a driver came to the end
}

// Explore walks through every state, or up to the first in which an effect happened twice.
func Explore(v Variant) Result {
	first := state{}
	seen := map[state]bool{first: true}
	queue := []state{first}
	r := Result{Ends: map[string]int{}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, n := range s.effects {
			if n > 1 {
				return Result{States: len(seen), Twice: true, Log: s.String(), Ends: r.Ends}
			}
		}
		for i := range s.owners {
			next, ok := s.step(v, i)
			if ok && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
			if s.owners[i].step == end {
				r.Ends[counts(s.effects)]++
			}
		}
	}
	r.States = len(seen)
	return r
}

func counts(effects [Calls]byte) string {
	out := ""
	for _, n := range effects {
		out += string('0' + rune(n))
	}
	return out
}

// String is the log as a person reads it.
func (s *state) String() string {
	out := ""
	for i := range s.size() {
		e := s.entry(i)
		out += string(rune(e.kind)) + string('0'+rune(e.epoch))
		if e.kind != claim {
			out += "." + string('0'+rune(e.call))
		}
		out += " "
	}
	return out
}

// append adds an entry, if the rule lets this driver do so; else the driver is fenced.
func (s *state) append(v Variant, o *owner, e entry, then byte) {
	if v != Plain && s.size() != o.seen {
		o.step = fenced
		return
	}
	s.log += string([]byte{e.kind, e.epoch, e.call})
	o.seen, o.step = s.size(), then
}

// step is the next one of a driver; false where it has none.
func (s state) step(v Variant, i int) (state, bool) {
	o := &s.owners[i]
	switch o.step {
	case idle: // the engine gives it the run at any time, while another is paused
		epoch := byte(0)
		for i := range s.size() {
			if e := s.entry(i); e.kind == claim {
				epoch = max(epoch, e.epoch)
			}
		}
		*o = owner{claiming, epoch + 1, s.size(), 0}
	case claiming:
		o.call = 0
		s.append(v, o, entry{claim, o.epoch, 0}, fold)
	case fold:
		s.decide(v, o)
	case intent:
		s.intend(v, o)
	case effect:
		s.effects[o.call]++
		o.step = after
	case after:
		s.append(v, o, entry{result, o.epoch, o.call}, fold)
	default:
		return s, false
	}
	return s, true
}

// decide finds the next call in what a driver has seen of the log. One that was started and has no
// result is never done again.
func (s *state) decide(v Variant, o *owner) {
	var started, done [Calls]bool
	for i := range o.seen {
		switch e := s.entry(i); e.kind {
		case start:
			started[e.call] = true
		case result, unknown:
			done[e.call] = true
		}
	}
	o.call = 0
	for o.call < Calls && done[o.call] {
		o.call++
	}
	switch {
	case o.call == Calls:
		o.step = end
	case started[o.call]:
		s.append(v, o, entry{unknown, o.epoch, o.call}, fold)
	default:
		o.step = intent
	}
}

// intend is where the rules differ.
func (s *state) intend(v Variant, o *owner) {
	switch v {
	case Async:
		o.step = effect
	case Lease:
		for i := range s.size() {
			if e := s.entry(i); e.kind == claim && e.epoch > o.epoch {
				o.step = fenced
				return
			}
		}
		o.step, o.seen = effect, s.size()
	default:
		s.append(v, o, entry{start, o.epoch, o.call}, effect)
	}
}
