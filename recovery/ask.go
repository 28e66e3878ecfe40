package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
)

// askModel is the request for the next answer, unless the window is full, or what failed cannot be
// fixed by asking again.
func (s decider) askModel() Action {
	if f := s.failed; f != nil && !f.Again && f.Fault != journal.FaultContext {
		return Record{[]journal.Body{givenUp(f)}}
	}
	if q, spent := s.used(s.Created.Setup.Price); spent {
		return open(q, nil)
	}
	if s.shown.Full(s.run()) {
		return s.makeRoom()
	}
	return CallModel{Turn: len(s.Turns) + 1, NotBefore: s.retryAt}
}

func (s decider) makeRoom() Action {
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

func (s decider) fullWords() string {
	tokens := s.shown.Tokens(s.run())
	overflow, _ := s.shown.Overflow()
	if w := s.Created.Setup.Window; w > 0 && overflow {
		return fmt.Sprintf("%s refused the conversation, about %d tokens, as too long, although its window is known as %d (say what it is in config.toml)", s.Created.Model, tokens, w)
	} else if w > 0 {
		return fmt.Sprintf("the conversation, about %d tokens, fills the window of %s (%d)", tokens, s.Created.Model, w)
	}
	return fmt.Sprintf("the conversation, about %d tokens, is longer than the window of %s", tokens, s.Created.Model)
}

// givenUp is what follows when asking again cannot help: what the provider's filter refuses it will
// always refuse; all else a person can fix, and then resume.
func givenUp(f *journal.ModelFailed) journal.Body {
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
