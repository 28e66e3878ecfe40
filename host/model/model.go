// Package model is the contract between the host and a language model. Messages are provider-neutral.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"agent/recovery"
)

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Request is everything that a model needs for one answer. The same facts give the same bytes.
type Request struct {
	System   string
	Messages []recovery.Message
	Tools    []ToolSpec
}

// Answer is one whole answer. Calls of it are blocks of kind call; their IDs are the provider's (Provider), the host gives its own.
type Answer struct {
	Blocks []recovery.Block
	Stop   recovery.AnswerStop
	Usage  *recovery.Usage
}

// Delta is a piece of an answer as it arrives. The last one carries the whole Answer and nothing else.
type Delta struct {
	Text   string // text for the person, shown as it arrives
	Answer *Answer
}

// Model answers requests.
type Model interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// Authored is a model whose calls were written by the person who started the run: they need no further yes.
type Authored interface {
	Authored() bool
}

// Planner is a model that can say before its first turn what a prompt will need.
type Planner interface {
	// Plan refuses a prompt that the model cannot carry out, and counts the turns that it will take, the last answer
	// included; 0 when it cannot tell. earlier is the transcript of the thread before the prompt.
	Plan(earlier []recovery.Message, prompt string) (turns int, err error)
}
