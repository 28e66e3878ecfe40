package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Compact is older messages that the model is to be shown as a summary from now on: the thread's earlier runs and the turns
// up to Through. The host has the model write it, from SummaryMessages.
type Compact struct {
	Through   int
	NotBefore time.Time // zero: at once
}

func (Compact) action() {}

// summaryRequest asks for the summary. Its text is part of the record of what a model was asked, so it is never edited
// without a new name in the system prompt.
const summaryRequest = `The conversation is about to outgrow your context. Write a summary that will stand for everything above, for yourself,
so that the work can go on without it. Call no tool. Say, in this order and as briefly as is safe:
1. what the person asked for, with every constraint and preference in their own words where the wording matters;
2. what was done so far: files read or changed (paths), commands run and what came of them, decisions and why;
3. every call whose outcome is unknown, refused or skipped, with its id, since it must not be asked for again;
4. what is known now that will be needed: names, values, errors, exact snippets;
5. what remains to be done, and the next step.
Leave out greetings, repetitions and what no longer matters.`

const summaryHead = "Older messages of this conversation are left out here. This summary stands for them:\n\n"

const cutWord = "Your answer was cut off because it reached its length limit. Go on exactly where it stopped, without repeating anything."

// maxCuts is how many answers in a row may be cut off, or paused by the provider, without a whole call between.
const maxCuts = 4

// noteContext keeps the estimate of what the next request holds, where a provider's window bounds it.
func (s *State) noteContext(b journal.Body) {
	if s.Created.Setup.Provider == "" {
		return
	}
	switch b := b.(type) {
	case journal.ModelAnswered:
		if u := b.Usage; u != nil && u.Input > 0 {
			if s.overhead < 0 {
				s.overhead = max(0, u.Input-s.contextTokens())
			}
			s.held, s.counted = u.Input+u.Output, true
			return
		}
		s.held += tokensOf(s.current().messages()) // as it is stored, so that a later fold counts the same
	case journal.CallSettled:
		s.held += blockOverhead + tokensIn(b.Result.Content)
	case journal.MessageAdded:
		s.held += blockOverhead + tokensIn(b.Text)
	case journal.ContextCompacted:
		s.held, s.counted = max(0, s.overhead)+tokensOf(s.Messages()), true
	}
}

// contextTokens estimates the next request. What a provider counted counts; only what came since is estimated.
func (s *State) contextTokens() int64 {
	if s.counted {
		return s.held
	}
	prompt := s.prompt()
	return s.held + tokensIn(s.Created.Setup.System) + tokensOf(s.Earlier) + tokensOf([]journal.Message{prompt})
}

// room is how many tokens a request may have so that an answer fits behind it: between three quarters and nine tenths of
// the window.
func (s *State) room() int64 {
	w := s.Created.Setup.Window
	return w - min(max(s.Created.Setup.MaxOutput, w/10), w/4)
}

// full says whether the next request would leave no room for its answer, or was refused as too long.
func (s *State) full() bool {
	return s.overflow || s.Created.Setup.Window > 0 && s.contextTokens() > s.room()
}

// compaction is what there is to summarise; false when that would bring nothing. The newest turns stay as they are, as many as fit
// into a quarter of the window.
func (s *State) compaction() (Compact, bool) {
	keep := s.Created.Setup.Window / 4
	if keep == 0 {
		keep = s.contextTokens() / 4
	}
	through := len(s.Turns)
	for kept := int64(0); through > 0; through-- {
		if kept += tokensOf(s.turnMessages(through)); kept > keep {
			break
		}
	}
	if s.summarises(through) {
		return Compact{Through: through}, true
	}
	return Compact{Through: len(s.Turns)}, s.summarises(len(s.Turns))
}

// summarises says whether a summary through that turn stands for something that no summary stands for yet.
func (s *State) summarises(through int) bool {
	if s.summary == nil {
		return through > 0 || len(s.Earlier) > 0
	}
	return through > s.summary.Through
}

func (s *State) compacted(b journal.ContextCompacted) error {
	if b.Through < 0 || b.Through > len(s.Turns) || !s.current().done() {
		return fmt.Errorf("a summary through turn %d of %d", b.Through, len(s.Turns))
	}
	if s.summary != nil && b.Through <= s.summary.Through {
		return fmt.Errorf("a summary through turn %d stands already", s.summary.Through)
	}
	if strings.TrimSpace(b.Summary) == "" {
		return fmt.Errorf("the summary is empty")
	}
	s.summary, s.overflow, s.tooLong, s.said, s.progress = &b, false, false, nil, true
	s.failed, s.tries, s.retryAt = nil, 0, time.Time{}
	if b.Usage != nil {
		s.Usage.Add(*b.Usage)
	}
	return nil
}

// Summarised is the fact that the summary stands for older messages, with what it saves.
func (s *State) Summarised(a Compact, summary string, u *journal.Usage) journal.ContextCompacted {
	b := journal.ContextCompacted{Through: a.Through, Summary: summary, Before: s.contextTokens(), Usage: u}
	then := *s
	then.summary, then.said = &b, nil
	b.After = max(0, s.overhead) + tokensOf(then.Messages())
	return b
}

// summaryResult bounds what a summary is made from: the head and the tail of each result.
const summaryResult = 2 << 10

// SummaryMessages is the transcript that the summary through that turn is made from, and the request for it. What the model
// was shown before stays as it was, so that it is read from the provider's cache, unless that was refused as too long.
func (s *State) SummaryMessages(through int) []journal.Message {
	out := slices.Clone(s.opening())
	for n := s.shownFrom() + 1; n <= through; n++ {
		out = append(out, s.turnMessages(n)...)
	}
	if s.overflow {
		for i := range out {
			out[i] = shortened(out[i])
		}
	}
	return append(out, journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: summaryRequest}}})
}

// shortened leaves out the middle of long results, and what only the provider understands: it belongs to a transcript
// that is whole.
func shortened(m journal.Message) journal.Message {
	out := journal.Message{Role: m.Role}
	for _, b := range m.Blocks {
		if b.Kind == journal.BlockReasoning {
			continue
		}
		if r := b.Result; r != nil && len(r.Text) > 2*summaryResult {
			c := *r
			c.Text = strings.ToValidUTF8(fmt.Sprintf("%s\n[%d bytes left out]\n%s",
				c.Text[:summaryResult], len(c.Text)-2*summaryResult, c.Text[len(c.Text)-summaryResult:]), "")
			b.Result = &c
		}
		b.Opaque = nil
		out.Blocks = append(out.Blocks, b)
	}
	return out
}

// opening is what stands before the turns that the model is shown: the thread's earlier runs, or the summary that stands for
// them, and the prompt.
func (s *State) opening() []journal.Message {
	if s.summary == nil {
		return append(slices.Clone(s.Earlier), s.prompt())
	}
	p := s.prompt()
	p.Blocks = slices.Insert(p.Blocks, 0, journal.Block{Kind: journal.BlockText, Text: summaryHead + s.summary.Summary})
	return []journal.Message{p}
}

// shownFrom is the first turn, from 0, that no summary stands for.
func (s *State) shownFrom() int {
	if s.summary == nil {
		return 0
	}
	return s.summary.Through
}

// ContextTokens is about how many tokens the next request has.
func (s *State) ContextTokens() int64 { return s.contextTokens() }
