package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"time"
)

// Compact is older messages that the model is to be shown as a summary from now on: the thread's
// earlier runs and the turns up to Through. The host has the model write it, from SummaryMessages.
type Compact struct {
	Through   int
	NotBefore time.Time // zero: at once
}

func (Compact) action() {}

// run is the run that is shown.
func (s *State) run() transcript.Run {
	return transcript.Run{Created: &s.Created, Earlier: s.Earlier, Turns: &s.Turns}
}

// Messages is the transcript that the model is shown. It must not be changed; Earlier is set before
// the first call.
func (s *State) Messages() []journal.Message { return s.shown.Messages(s.run()) }

// Transcript is what a finished run adds to its thread. With alone, it stands for the thread's
// earlier runs as well.
func (s *State) Transcript() (messages []journal.Message, alone bool) {
	return s.shown.Addition(s.run())
}

// SummaryMessages is the transcript that the summary through that turn is made from, and the
// request for it.
func (s *State) SummaryMessages(through int) []journal.Message {
	return s.shown.SummaryMessages(s.run(), through)
}

// Summarised is the fact that the summary stands for older messages, with what it saves.
func (s *State) Summarised(a Compact, summary string, u *journal.Usage) journal.ContextCompacted {
	return s.shown.Summarised(s.run(), a.Through, summary, u)
}

func (s *State) compacted(b journal.ContextCompacted) error {
	if err := s.shown.Summarise(s.run(), b); err != nil {
		return err
	}
	s.progress = true
	s.afresh()
	if b.Usage != nil {
		s.Usage.Add(*b.Usage)
	}
	return nil
}
