package transcript

import "agent/recovery/journal"

// window is how far the model's window is filled.
type window struct {
	overflow bool  // a request was refused as too long since the last summary
	tooLong  bool  // and so was the request for a summary that came of it
	held     int64 // tokens of the next request, as far as they are counted or estimated
	counted  bool  // held is all of them; else the opening comes on top
	overhead int64 // tokens of a request beside what is estimated (tools, frames), once a provider counted
	measured bool  // overhead is known
}

// Note keeps the estimate of what the next request holds, where a provider's window bounds it,
// after a fact was taken.
func (t *Transcript) Note(r Run, b journal.Body) {
	if r.Created.Setup.Provider == "" {
		return
	}
	w := &t.context
	switch b := b.(type) {
	case journal.ModelAnswered:
		if u := b.Usage; u != nil && u.Input > 0 {
			if !w.measured {
				w.overhead, w.measured = max(0, u.Input-t.Tokens(r)), true
			}
			w.held, w.counted = u.Input+u.Output, true
			return
		}
		w.held += tokensOf(r.Turns.At(r.Turns.Len() - 1).messages(nil)) // as it is stored, so that a later fold counts the same
	case journal.CallSettled:
		w.held += blockOverhead + TokensIn(b.Result.Content)
	case journal.MessageAdded:
		w.held += blockOverhead + TokensIn(b.Text)
	case journal.ContextCompacted:
		w.held, w.counted = w.overhead+tokensOf(t.Messages(r)), true
	}
}

// Refused takes note that the provider refused a request as too long.
func (t *Transcript) Refused() { t.context.overflow, t.context.tooLong = true, t.context.overflow }

// Overflow says whether a request was refused as too long since the last summary, and so was the
// request for a summary that came of it.
func (t *Transcript) Overflow() (overflow, tooLong bool) {
	return t.context.overflow, t.context.tooLong
}

// NewWindow takes note that the model was changed: its window is another one.
func (t *Transcript) NewWindow() { t.context.overflow, t.context.tooLong = false, false }

// Tokens estimates the next request. What a provider counted counts; only what came since is
// estimated.
func (t *Transcript) Tokens(r Run) int64 {
	if t.context.counted {
		return t.context.held
	}
	return t.context.held + TokensIn(r.Created.Setup.System) + tokensOf(r.Earlier) + tokensOf([]journal.Message{prompt(r.Created)})
}

// Full says whether the next request would leave no room for its answer, or was refused as too
// long.
func (t *Transcript) Full(r Run) bool {
	return t.context.overflow || r.Created.Setup.Window > 0 && t.Tokens(r) > room(r.Created.Setup)
}

// room is how many tokens a request may have so that an answer fits behind it: between three
// quarters and nine tenths of the window.
func room(s journal.Setup) int64 {
	return s.Window - min(max(s.MaxOutput, s.Window/10), s.Window/4)
}
