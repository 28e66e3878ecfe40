package runbook

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"agent/recovery/journal"
)

// turn is one run of the thread: its prompt and what came after it.
type turn struct {
	prompt string
	after  []journal.Message
}

// runs cuts a thread at its prompts.
func runs(messages []journal.Message) []turn {
	var all []turn
	for i, m := range messages {
		switch {
		case m.Role == journal.RoleUser:
			all = append(all, turn{prompt: prompt(m), after: messages[i+1 : i+1]})
		case len(all) > 0:
			last := &all[len(all)-1]
			last.after = last.after[:len(last.after)+1]
		}
	}
	return all
}

// prompt is the first text of a person's message.
func prompt(m journal.Message) string {
	for _, b := range m.Blocks {
		if b.Kind == journal.BlockText {
			return b.Text
		}
	}
	return ""
}

// isContinue says whether a prompt asks for what was left undone.
func isContinue(prompt string) bool {
	return strings.EqualFold(strings.TrimSuffix(strings.TrimSpace(prompt), "."), "continue")
}

// reader turns prompts into runbooks. It keeps the last long one, since a run reads its own anew
// for every turn; no answer depends on that.
type reader struct {
	kept atomic.Pointer[book]
}

// book is a prompt and what stands in it. It is never changed.
type book struct {
	prompt string
	steps  []step
	others []string // fences that are prose
}

// keepFrom is the length from which on a prompt is worth keeping, in bytes.
const keepFrom = 4096

// read parses a prompt. The error is for the person.
func (r *reader) read(prompt string) (*book, error) {
	if b := r.kept.Load(); b != nil && b.prompt == prompt {
		return b, nil
	}
	steps, others, err := parse(prompt)
	if err != nil {
		return nil, refusal(err)
	}
	b := &book{prompt: prompt, steps: steps, others: others}
	if len(prompt) >= keepFrom {
		r.kept.Store(b)
	}
	return b, nil
}

// replay reads from a thread how far its last run has come. The error is for the person.
func (r *reader) replay(messages []journal.Message) (*progress, error) {
	all := runs(messages)
	if len(all) == 0 {
		return nil, errors.New("read the transcript: it holds no prompt")
	}
	last := len(all) - 1
	if !isContinue(all[last].prompt) {
		p, err := r.begin(all[last].prompt, last)
		if err != nil {
			return nil, err
		}
		return p, p.follow(all[last].after)
	}
	p := r.chain(all[:last])
	if p == nil {
		return nil, errNothingEarlier
	}
	p.next(last)
	return p, p.follow(all[last].after)
}

// begin is the runbook of a prompt, with nothing carried out.
func (r *reader) begin(prompt string, run int) (*progress, error) {
	b, err := r.read(prompt)
	if err != nil {
		return nil, err
	}
	return &progress{book: b, marks: make([]mark, len(b.steps)), run: run, at: -1}, nil
}

// chain finds the thread's last runbook and follows it through the runs that continued it. It is
// nil where there is none. Runs of other models are passed over.
func (r *reader) chain(all []turn) *progress {
	for root, t := range slices.Backward(all) {
		p, err := r.begin(t.prompt, root)
		if err != nil || len(p.steps) == 0 || p.follow(t.after) != nil || p.at < 0 && len(t.after) > 0 {
			continue
		}
		for i := root + 1; i < len(all); i++ {
			if !isContinue(all[i].prompt) {
				continue
			}
			q := *p
			q.marks = slices.Clone(p.marks)
			q.next(i)
			if q.follow(all[i].after) == nil {
				p = &q
			}
		}
		return p
	}
	return nil
}
