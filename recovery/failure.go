package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"fmt"
	"strings"
	"time"
)

// Patience bounds how long a provider may be waited for before its next request; a longer wait is left to a person.
const Patience = 5 * time.Minute

// Retry says whether the same request is sent again after so many failures in a row, and after which wait. after is what the
// provider asked for, 0 when it did not. chance, from 0 up to 1, spreads the requests of many runs; the wait doubles from
// one second up to a minute, of which chance takes off up to a quarter.
func Retry(f journal.Fault, tries int, after time.Duration, chance float64) (wait time.Duration, again bool) {
	most := 0
	switch f {
	case journal.FaultRateLimit, journal.FaultOverloaded, journal.FaultServer:
		most = 8
	case journal.FaultNetwork, journal.FaultStalled, journal.FaultCut:
		most = 5
	case journal.FaultGarbage, journal.FaultTooLarge:
		most = 2
	}
	if tries >= most || after > Patience {
		return 0, false
	}
	wait = min(time.Minute, time.Second<<min(tries-1, 6))
	wait -= time.Duration(chance * float64(wait) / 4)
	return max(wait, after), true
}

// modelFailed keeps that there is no answer. What a request cost nevertheless is charged.
func (s *State) modelFailed(e journal.Event, b journal.ModelFailed) error {
	if s.Requested != len(s.Turns)+1 {
		return fmt.Errorf("the model was not asked")
	}
	s.failed, s.tries, s.retryAt, s.asking = &b, s.tries+1, e.Time.Add(b.Wait), b.Again
	if b.Fault == journal.FaultContext {
		s.shown.Refused()
	}
	if b.Usage != nil {
		s.Estimated.Add(*b.Usage)
	}
	return nil
}

// Tries is how many requests in a row brought no answer under this owner.
func (s *State) Tries() int { return s.tries }

// Charge estimates what a request costs that brings no answer: what the provider read, and what it wrote until then. It is nil
// for a model without a provider.
func (s *State) Charge(wrote string) *journal.Usage {
	if s.Created.Setup.Provider == "" {
		return nil
	}
	return &journal.Usage{Input: s.shown.Tokens(s.run()), Output: transcript.TokensIn(wrote)}
}

// inVain charges a request whose owner ended before the answer came: a crash refills no budget.
func (s *State) inVain() {
	if u := s.Charge(""); s.asking && u != nil {
		s.Estimated.Add(*u)
	}
	s.asking = s.Requested > len(s.Turns) && s.Open == nil // while a person is asked, the model is not
	s.failed, s.tries, s.retryAt = nil, 0, time.Time{}
}

// askModel is the request for the next answer, unless the window is full, or what failed cannot be fixed by asking again.
func (s *State) askModel() Action {
	if f := s.failed; f != nil && !f.Again && f.Fault != journal.FaultContext {
		return Record{[]journal.Body{s.givenUp(f)}}
	}
	if q, spent := s.spentLimit(); spent {
		return open(q, nil)
	}
	if s.shown.Full(s.run()) {
		return s.makeRoom()
	}
	return CallModel{Turn: len(s.Turns) + 1, NotBefore: s.retryAt}
}

func (s *State) makeRoom() Action {
	through, ok := s.shown.Compaction(s.run())
	overflow, tooLong := s.shown.Overflow()
	switch {
	case tooLong:
		return Record{[]journal.Body{journal.RunFailed{Reason: s.fullWords() + ", and even a request for a summary of it is too long: choose a model with a larger window"}}}
	case s.Created.Setup.NoCompact:
		return Record{[]journal.Body{journal.RunFailed{Reason: s.fullWords() + ", and --no-compact keeps older messages from being summarised"}}}
	case ok:
		return Compact{Through: through, NotBefore: s.retryAt}
	case overflow:
		return Record{[]journal.Body{journal.RunFailed{Reason: s.fullWords() + ", and there is nothing left to summarise: begin with a shorter prompt, or choose a model with a larger window"}}}
	}
	return CallModel{Turn: len(s.Turns) + 1, NotBefore: s.retryAt} // the provider has the last word on what fits
}

func (s *State) fullWords() string {
	tokens := s.shown.Tokens(s.run())
	overflow, _ := s.shown.Overflow()
	if w := s.Created.Setup.Window; w > 0 && overflow {
		return fmt.Sprintf("%s refused the conversation, about %d tokens, as too long, although its window is known as %d (say what it is in config.toml)", s.Created.Model, tokens, w)
	} else if w > 0 {
		return fmt.Sprintf("the conversation, about %d tokens, fills the window of %s (%d)", tokens, s.Created.Model, w)
	}
	return fmt.Sprintf("the conversation, about %d tokens, is longer than the window of %s", tokens, s.Created.Model)
}

// givenUp is what follows when asking again cannot help: what the provider's filter refuses it will always refuse; all
// else a person can fix, and then resume.
func (s *State) givenUp(f *journal.ModelFailed) journal.Body {
	if f.Fault == journal.FaultFiltered {
		return journal.RunFailed{Reason: f.Detail}
	}
	parts := []string{f.Detail}
	if f.Tries > 1 {
		parts[0] += fmt.Sprintf(" (asked %d times)", f.Tries)
	}
	if f.Remedy != "" {
		parts = append(parts, f.Remedy)
	}
	return journal.RunInterrupted{Cause: journal.CauseModel, Detail: strings.Join(parts, "; ")}
}

// Cost is what the run cost so far, in millionths of a US dollar, what is estimated included; false where no price is known.
func (s *State) Cost() (micros int64, known bool) {
	p := s.Created.Setup.Price
	if p == nil || s.spent.unknown {
		return 0, false
	}
	return s.spent.micros + p.Cost(s.charged().Minus(s.spent.usage)), true
}

// charged is all usage that counts, what is estimated included.
func (s *State) charged() journal.Usage {
	u := s.Usage
	u.Add(s.Estimated)
	return u
}

// tokens is all that counts against the token limit.
func (s *State) tokens() int64 { return s.Usage.Tokens() + s.Estimated.Tokens() }

// spentLimit is the question that the limit on tokens or cost asks before another request; false while there is budget.
func (s *State) spentLimit() (journal.Question, bool) {
	about := ""
	if s.Estimated != (journal.Usage{}) {
		about = "about "
	}
	if l := s.Limits.MaxTokens; l > 0 && s.tokens()-s.grantedTokens >= l {
		return moreOf(journal.RequestMaxTokens, fmt.Sprintf("%d tokens", l), fmt.Sprintf("%s%d", about, s.tokens())), true
	}
	if l := s.Limits.MaxCost; l > 0 {
		if cost, known := s.Cost(); known && cost-s.grantedCost >= l {
			return moreOf(journal.RequestMaxCost, journal.Dollars(l), about+journal.Dollars(cost)), true
		}
	}
	return journal.Question{}, false
}
