// Package rewind is the model of a run that takes back what other runs did. It asks no provider:
// its one call, which makes files as they were, was worked out before the run began, and stands in
// the run's first fact.
package rewind

import (
	"context"
	"fmt"
	"iter"

	"agent/host/model"
	"agent/recovery/journal"
)

// Name is the model's.
const Name = "rewind"

// Tool is the tool that it calls.
const Tool = "restore_files"

// New makes the model of a run.
func New(c journal.RewindRun) model.Model { return rewinder{c} }

type rewinder struct{ run journal.RewindRun }

// Authored says whether the person was shown the call before and said yes to it.
func (r rewinder) Authored() bool { return r.run.Yes }

// Stream answers with the call, and behind its result with what became of it.
func (r rewinder) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	a := r.answer(req)
	return func(yield func(model.Delta, error) bool) { yield(model.Delta{Answer: &a}, nil) }
}

func (r rewinder) answer(req model.Request) model.Answer {
	result := last(req.Messages)
	switch {
	case r.run.Args == nil:
		return said(journal.AnswerEnd, r.stands())
	case result == nil:
		return model.Answer{Stop: journal.AnswerCalls, Blocks: []journal.Block{{
			Kind: journal.BlockCall, Call: &journal.CallBlock{Tool: Tool, Args: r.run.Args},
		}}}
	case result.Outcome != journal.OutcomeOK:
		return said(journal.AnswerFailed, result.Text)
	}
	text := result.Text
	if r.run.Only != journal.RewindFiles {
		text += "; " + r.stands()
	}
	return said(journal.AnswerEnd, text)
}

// stands says where the conversation goes on.
func (r rewinder) stands() string { return fmt.Sprintf("the conversation stands at %s", r.run.To) }

// last is the result of the call; nil before there is one.
func last(messages []journal.Message) *journal.ResultBlock {
	for i := len(messages) - 1; i >= 0; i-- {
		for _, b := range messages[i].Blocks {
			if b.Kind == journal.BlockResult {
				return b.Result
			}
		}
		if messages[i].Role == journal.RoleUser {
			break // this run's own prompt: what is before is of others
		}
	}
	return nil
}

func said(stop journal.AnswerStop, text string) model.Answer {
	return model.Answer{Stop: stop, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}
}
