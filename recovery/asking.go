package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"fmt"
	"slices"
	"time"
)

// requests is how it stands with the requests to the model.
type requests struct {
	Requested int                  // highest turn for which the model was asked
	failed    *journal.ModelFailed // the last request under this owner, when it brought no answer
	tries     int                  // requests in a row that brought none under this owner
	retryAt   time.Time            // no request before
	asking    bool                 // the model was asked, and nothing came of it yet
	planning  planning
	Misfits   int // answers that did not fit the output schema, after which the model was asked again
	cuts      int // answers in a row that were cut off or paused, without a whole call
}

// afresh begins to count failures anew.
func (s *requests) afresh() { s.failed, s.tries, s.retryAt = nil, 0, time.Time{} }

// fail takes note of a request that brought no answer.
func (s *requests) fail(at time.Time, b journal.ModelFailed) {
	s.failed, s.tries, s.retryAt, s.asking = &b, s.tries+1, at.Add(b.Wait), b.Again
}

// answer takes note of an answer, and counts those that were cut off.
func (s *requests) answer(b journal.ModelAnswered) {
	s.asking = false
	s.afresh()
	s.cuts++
	whole := func(p journal.Proposal) bool { return p.Invalid == "" }
	if slices.ContainsFunc(b.Calls, whole) || b.Stop != journal.AnswerLength && b.Stop != journal.AnswerPause {
		s.cuts = 0
	}
}

// postpone moves the next request as far as the clock was set.
func (s *requests) postpone(by time.Duration) {
	if !s.retryAt.IsZero() {
		s.retryAt = s.retryAt.Add(by)
	}
}

// Tries is how many requests in a row brought no answer under this owner.
func (s *requests) Tries() int { return s.tries }

// modelFailed keeps that there is no answer. What a request cost nevertheless is charged.
func (s *State) modelFailed(e journal.Event, b journal.ModelFailed) error {
	if s.Requested != len(s.Turns)+1 {
		return fmt.Errorf("the model was not asked")
	}
	s.fail(e.Time, b)
	if b.Fault == journal.FaultContext {
		s.shown.Refused()
	}
	if b.Usage != nil {
		s.Estimated.Add(*b.Usage)
	}
	return nil
}

// Charge estimates what a request costs that brings no answer: what the provider read, and what it
// wrote until then. It is nil for a model without a provider.
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
	s.afresh()
}
