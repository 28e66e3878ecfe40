package transcript

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
)

// summaryRequest asks for the summary. Its text is part of the record of what a model was asked, so
// it is never edited without a new name in the system prompt.
const summaryRequest = `The conversation is about to outgrow your context. Write a summary that will stand for everything above, for yourself,
so that the work can go on without it. Call no tool. Say, in this order and as briefly as is safe:
1. what the person asked for, with every constraint and preference in their own words where the wording matters;
2. what was done so far: files read or changed (paths), commands run and what came of them, decisions and why;
3. every call whose outcome is unknown, refused or skipped, with its id, since it must not be asked for again;
4. what is known now that will be needed: names, values, errors, exact snippets;
5. what remains to be done, and the next step.
Leave out greetings, repetitions and what no longer matters.`

const summaryHead = "Older messages of this conversation are left out here. This summary stands for them:\n\n"

// Summarise takes the summary that stands for older messages from here on.
func (t *Transcript) Summarise(r Run, b journal.ContextCompacted) error {
	n := r.Turns.Len()
	if b.Through < 0 || b.Through > n || n > 0 && !r.Turns.Settled(n-1) {
		return fmt.Errorf("a summary through turn %d of %d", b.Through, n)
	}
	if t.summary != nil && b.Through <= t.summary.Through {
		return fmt.Errorf("a summary through turn %d stands already", t.summary.Through)
	}
	if strings.TrimSpace(b.Summary) == "" {
		return fmt.Errorf("the summary is empty")
	}
	t.summary, t.built = &b, nil
	t.context.overflow, t.context.tooLong = false, false
	return nil
}

// Compaction is the turn through which there is something to summarise; false when that would bring
// nothing. The newest turns stay as they are, as many as fit into a quarter of the window.
func (t *Transcript) Compaction(r Run) (through int, ok bool) {
	keep := r.Created.Setup.Window / 4
	if keep == 0 {
		keep = t.Tokens(r) / 4
	}
	through = r.Turns.Len()
	for kept := int64(0); through > 0; through-- {
		if kept += tokensOf(t.turn(nil, r, through)); kept > keep {
			break
		}
	}
	if t.summarises(r, through) {
		return through, true
	}
	return r.Turns.Len(), t.summarises(r, r.Turns.Len())
}

// summarises says whether a summary through that turn stands for something that no summary stands
// for yet.
func (t *Transcript) summarises(r Run, through int) bool {
	if t.summary == nil {
		return through > 0 || len(r.Earlier) > 0
	}
	return through > t.summary.Through
}

// shownFrom is the first turn, from 0, that no summary stands for.
func (t *Transcript) shownFrom() int {
	if t.summary == nil {
		return 0
	}
	return t.summary.Through
}

// Summarised is the fact that the summary stands for older messages, with what it saves.
func (t *Transcript) Summarised(r Run, through int, summary string, u *journal.Usage) journal.ContextCompacted {
	b := journal.ContextCompacted{Through: through, Summary: summary, Before: t.Tokens(r), Usage: u}
	then := *t
	then.summary, then.built = &b, nil
	b.After = t.context.overhead + tokensOf(then.Messages(r))
	return b
}

// summaryResult bounds what a summary is made from: the head and the tail of each result.
const summaryResult = 2 << 10

// SummaryMessages is the transcript that the summary through that turn is made from, and the
// request for it. What the model was shown before stays as it was, so that it is read from the
// provider's cache, unless that was refused as too long.
func (t *Transcript) SummaryMessages(r Run, through int) []journal.Message {
	out := t.opening(r)
	for n := t.shownFrom() + 1; n <= through; n++ {
		out = t.turn(out, r, n)
	}
	if t.context.overflow {
		for i := range out {
			out[i] = shortened(out[i])
		}
	}
	return append(out, journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: summaryRequest}}})
}

// shortened leaves out the middle of long results, and what only the provider understands: it
// belongs to a transcript that is whole.
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
