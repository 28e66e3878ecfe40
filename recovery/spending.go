package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
	"fmt"
)

// spending is what the run was charged with, and the limits that bound it.
type spending struct {
	Limits    journal.Limits
	Usage     journal.Usage // as providers reported it
	Estimated journal.Usage // charged without a report: requests that brought no answer
	Below     belowSpent    // by runs that carried out calls of this one and have ended
	before    earlierCost   // what models that the run asked before cost

	grantedAt     int   // turns used when the turn limit was last lifted
	grantedTokens int64 // tokens used when the token limit was last lifted
	grantedCost   int64 // millionths of a dollar spent when the cost limit was last lifted
}

// earlierCost is what a run had spent when its model was changed: each model has prices of its own.
type earlierCost struct {
	usage   journal.Usage // charged until then
	micros  int64         // its cost, in millionths of a US dollar
	unknown bool          // a part of it has no known price
}

// belowSpent is what runs below this one were charged with.
type belowSpent struct {
	Usage     journal.Usage // what is estimated included
	Estimated bool          // a part of it is
	micros    int64         // its cost, in millionths of a US dollar
	unknown   bool          // a part of it has no known price
}

// add charges the end of one more run.
func (b *belowSpent) add(e *journal.ChildEnd) {
	if e == nil {
		return
	}
	b.Estimated = b.Estimated || e.Estimated
	b.charge(e.Usage, e.Cost, e.Priced)
}

func (b *belowSpent) charge(u journal.Usage, micros int64, priced bool) {
	b.Usage.Add(u)
	b.micros += micros
	b.unknown = b.unknown || !priced && u != journal.Usage{}
}

// Used is all that the run was charged with, and the runs below it that have ended; estimated says
// whether a part of it is.
func (s *spending) Used() (u journal.Usage, estimated bool) {
	u = s.charged()
	u.Add(s.Below.Usage)
	return u, s.Below.Estimated || s.Estimated != journal.Usage{}
}

// Left is what the run may still hand on of its limits on tokens and cost, shared evenly between so
// many; 0 is no limit. It says false where nothing of a limit is left, or it cannot be said.
func Left(s *State, shares int) (l journal.Limits, ok bool) {
	shares = max(1, shares)
	if n := s.Limits.MaxTokens; n > 0 {
		if l.MaxTokens = (n - (s.tokens() - s.grantedTokens)) / int64(shares); l.MaxTokens <= 0 {
			return l, false
		}
	}
	if n := s.Limits.MaxCost; n > 0 {
		cost, known := s.Cost()
		if l.MaxCost = (n - (cost - s.grantedCost)) / int64(shares); !known || l.MaxCost <= 0 {
			return l, false
		}
	}
	return l, true
}

// TurnsLeft is what is left of the turn budget; -1 without a limit.
func (s *State) TurnsLeft() int { return s.turnsLeft(len(s.Turns)) }

func (s *spending) turnsLeft(turns int) int {
	if s.Limits.MaxTurns == 0 {
		return -1
	}
	return max(0, s.Limits.MaxTurns-(turns-s.grantedAt))
}

// Cost is what the run cost so far, in millionths of a US dollar, what is estimated included; false
// where no price is known.
func (s *State) Cost() (micros int64, known bool) {
	if s.Created.Flow != nil { // it asks no model itself
		return s.Below.micros, !s.Below.unknown && s.Below.Usage != journal.Usage{}
	}
	return s.cost(s.Created.Setup.Price)
}

func (s *spending) cost(p *journal.Price) (micros int64, known bool) {
	own, known := s.ownCost(p)
	return own + s.Below.micros, known && !s.Below.unknown
}

// ownCost is what the run's own requests cost.
func (s *spending) ownCost(p *journal.Price) (micros int64, known bool) {
	if p == nil || s.before.unknown {
		return 0, false
	}
	return s.before.micros + p.Cost(s.charged().Minus(s.before.usage)), true
}

// OwnSpending is what the run itself was charged with, without the runs below it; known says
// whether what that cost is.
func OwnSpending(s *State) (u journal.Usage, estimated bool, micros int64, known bool) {
	u, estimated = s.charged(), s.Estimated != journal.Usage{}
	if u == (journal.Usage{}) {
		return u, estimated, 0, true
	}
	micros, known = s.ownCost(s.Created.Setup.Price)
	return u, estimated, micros, known
}

// closeAccount begins another one at other prices.
func (s *spending) closeAccount(p *journal.Price) {
	cost, known := s.ownCost(p)
	s.before.unknown = s.before.unknown || !known && s.charged() != journal.Usage{}
	s.before.usage, s.before.micros = s.charged(), cost
}

// charged is all usage that counts, what is estimated included.
func (s *spending) charged() journal.Usage {
	u := s.Usage
	u.Add(s.Estimated)
	return u
}

// tokens is all that counts against the token limit.
func (s *spending) tokens() int64 {
	u, _ := s.Used()
	return u.Tokens()
}

// used is the question that the limit on tokens or cost asks before another request; false while
// there is budget.
func (s *spending) used(p *journal.Price) (journal.Question, bool) {
	about := ""
	if _, estimated := s.Used(); estimated {
		about = "about "
	}
	if l := s.Limits.MaxTokens; l > 0 && s.tokens()-s.grantedTokens >= l {
		return moreOf(journal.RequestMaxTokens, fmt.Sprintf("%d tokens", l), fmt.Sprintf("%s%d", about, s.tokens())), true
	}
	if l := s.Limits.MaxCost; l > 0 {
		if cost, known := s.cost(p); known && cost-s.grantedCost >= l {
			return moreOf(journal.RequestMaxCost, journal.Dollars(l), about+journal.Dollars(cost)), true
		}
	}
	return journal.Question{}, false
}

// grant begins a fresh budget after so many turns.
func (s *spending) grant(k journal.RequestKind, turns int, p *journal.Price) {
	switch k {
	case journal.RequestMaxTurns:
		s.grantedAt = turns
	case journal.RequestMaxTokens:
		s.grantedTokens = s.tokens()
	case journal.RequestMaxCost:
		s.grantedCost, _ = s.cost(p) // without a known price there is no such question
	}
}

// moreTurns asks whether to go on beyond the limit on turns.
func (s *spending) moreTurns() journal.Question {
	n, turns := s.Limits.MaxTurns, "turns"
	if n == 1 {
		turns = "turn"
	}
	return journal.Question{
		Kind:    journal.RequestMaxTurns,
		Message: fmt.Sprintf("the run used its limit of %d %s and is not done. Go on with %d more?", n, turns, n),
		Schema:  json.RawMessage(schemaYesNo),
		Choices: []string{"yes", "no"},
		Hints:   []string{fmt.Sprintf("goes on with %d more %s", n, turns), "ends the run; its transcript is kept"},
	}
}

// moreOf asks whether to go on beyond a limit on what is paid for.
func moreOf(k journal.RequestKind, limit, used string) journal.Question {
	return journal.Question{
		Kind:    k,
		Message: fmt.Sprintf("the run used its limit of %s (%s in all) and is not done. Go on with as much again?", limit, used),
		Schema:  json.RawMessage(schemaYesNo),
		Choices: []string{"yes", "no"},
		Hints:   []string{"goes on with " + limit + " more", "ends the run; its transcript is kept"},
	}
}
