package runbook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"agent/host/model"
	"agent/recovery/journal"
)

// Name is what --model and a run's record call the model.
const Name = "runbook"

// Model carries out Markdown runbooks. Its answers follow from the transcript alone. Any number of
// runs may share it.
type Model struct {
	// Check, where it is set, says before a run whether a tool would take the arguments of a call:
	// what it refuses, Plan refuses. It is set before the first use.
	Check func(tool string, args json.RawMessage) error

	reader reader
}

var (
	_ model.Model     = (*Model)(nil)
	_ model.Authored  = (*Model)(nil)
	_ model.Planner   = (*Model)(nil)
	_ model.Continuer = (*Model)(nil)
	_ model.Doubter   = (*Model)(nil)
)

// New returns the model.
func New() *Model { return &Model{} }

// Authored says that every call stands in the prompt.
func (*Model) Authored() bool { return true }

// Continues says whether a prompt asks for what the thread's last runbook left undone.
func (*Model) Continues(prompt string) bool { return isContinue(prompt) }

// Plan refuses a prompt that holds nothing to carry out or is not written as a runbook, and counts
// its steps and the last answer. The questions that unknown outcomes make come on top.
func (m *Model) Plan(earlier []journal.Message, prompt string) (int, error) {
	asked := journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: prompt}}}
	p, err := m.reader.replay(append(earlier[:len(earlier):len(earlier)], asked))
	switch {
	case err != nil:
		return 0, err
	case len(p.steps) == 0:
		return 0, nothingRunnable(p.others)
	case p.start == len(p.steps):
		return 0, nothingLeft(p)
	}
	if err := m.check(p.steps[p.start:]); err != nil {
		return 0, refusal(err)
	}
	return len(p.steps) - p.start + 1, nil
}

// check asks the tools about every call. The error names each refused one by its line.
func (m *Model) check(steps []step) error {
	if m.Check == nil {
		return nil
	}
	var mistakes []error
	for _, s := range steps {
		args, err := encode(s.arguments())
		if err == nil {
			err = m.Check(s.tool, args)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("line %d: %w", s.line, err))
		}
	}
	return named(mistakes)
}

// Stream gives the next answer: one step's call, a question about one whose outcome is unknown, or
// the last word. It is done at once, so the context is not looked at.
func (m *Model) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		answer, err := m.answer(req.Messages)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		for _, b := range answer.Blocks {
			if b.Kind == journal.BlockText && !yield(model.Delta{Text: b.Text}, nil) {
				return
			}
		}
		yield(model.Delta{Answer: answer}, nil)
	}
}

// answer decides what comes next in the thread's last run.
func (m *Model) answer(messages []journal.Message) (*model.Answer, error) {
	p, err := m.reader.replay(messages)
	switch {
	case errors.Is(err, errForeign):
		return last(journal.AnswerFailed, fmt.Sprintf("stopped: the record of this run does not fit its runbook, nothing more "+
			"was carried out: %v", err)), nil
	case err != nil:
		return nil, err
	case len(p.steps) == 0:
		return nil, nothingRunnable(p.others)
	case p.at < p.start:
		return p.ask(p.start)
	}
	at := p.marks[p.at]
	switch e := at.judge(p.steps[p.at]); {
	case e == endOpen:
		return nil, fmt.Errorf("answer the transcript: call %s of %s has no result", at.id, p.steps[p.at].where())
	case e == endUnknown:
		return p.askWhether(at.id)
	case e.over():
		return p.ask(p.at + 1)
	default:
		return last(journal.AnswerFailed, p.stopped(e)), nil
	}
}

// ask is the answer that asks for the step at index; the summary after the last one.
func (p *progress) ask(index int) (*model.Answer, error) {
	if index == len(p.steps) {
		return last(journal.AnswerEnd, p.summary()), nil
	}
	var before *step
	if index > p.start {
		before = &p.steps[index-1]
	}
	call, err := p.steps[index].call(index)
	if err != nil {
		return nil, err
	}
	blocks := []journal.Block{call}
	if news := p.steps[index].news(before); news != "" {
		blocks = []journal.Block{{Kind: journal.BlockText, Text: news}, call}
	}
	return &model.Answer{Blocks: blocks, Stop: journal.AnswerCalls}, nil
}

// askWhether is the answer that asks a person whether to go on although the outcome of the call id
// is unknown.
func (p *progress) askWhether(id string) (*model.Answer, error) {
	args, err := encode(map[string]any{"question": p.question(), "about": id})
	if err != nil {
		return nil, fmt.Errorf("encode the question about call %s: %v", id, err)
	}
	return &model.Answer{Stop: journal.AnswerCalls, Blocks: []journal.Block{{Kind: journal.BlockCall, Call: &journal.CallBlock{
		Provider: provider(p.at) + "-whether", Tool: toolConfirm, Args: args,
	}}}}, nil
}

// last is an answer that ends the run.
func last(stop journal.AnswerStop, text string) *model.Answer {
	return &model.Answer{Stop: stop, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}
}
