// Package model is the contract between the host and a language model. Messages are
// provider-neutral.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"agent/recovery/journal"
)

// ToolSpec is a tool as a model sees it.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Request is everything that a model needs for one answer. The same facts give the same request,
// and the same request gives the same bytes on the wire.
//
// Messages alternate as the run went: a user's, an assistant's with text, reasoning and calls, a
// tool's with the results of all those calls in their order. Calls and results belong together by
// their ID, which is unique in the thread; the provider's own ids (Provider) may be empty, repeat
// or collide and are never used to tell calls apart.
type Request struct {
	System    string
	Messages  []journal.Message
	Tools     []ToolSpec
	MaxOutput int64          // tokens that the answer may have; 0 leaves it to the provider
	Effort    journal.Effort // how long it may think; "" leaves it to the provider
	Thread    string         // the conversation, which a provider may use to find its cache
	Turn      int            // the run's turn that is asked for, from 1
}

// Repeats says how many messages a request begins with that another one began with too. Messages
// are never changed in place, so one whose blocks lie where they lay is the same; earlier holds on
// to them, so nothing else can come to lie there.
func Repeats(earlier, messages []journal.Message) int {
	n := 0
	for n < min(len(earlier), len(messages)) {
		a, b := earlier[n], messages[n]
		if a.Role != b.Role || len(a.Blocks) != len(b.Blocks) || len(a.Blocks) > 0 && &a.Blocks[0] != &b.Blocks[0] {
			break
		}
		n++
	}
	return n
}

// Answer is one whole answer. Calls of it are blocks of kind call; their IDs are the provider's
// (Provider), the host gives its own. A call whose arguments are not JSON keeps their text: nothing
// runs, and the model is informed.
type Answer struct {
	Blocks []journal.Block
	Stop   journal.AnswerStop
	Usage  *journal.Usage // nil when the provider does not say
	Served string         // the model that answered, by the provider's own name
	Origin string         // the provider's id of the exchange
}

// Delta is a piece of an answer as it arrives. The last one carries the whole Answer and nothing
// else.
type Delta struct {
	Text      string // text for the person, shown as it arrives
	Reasoning string // what the model thinks, as far as the provider shows it; shown only on request
	Joined    int    // how many pieces that came behind the first one, and together with it, are in this one
	Answer    *Answer
}

// Model answers requests. Stream ends with one Answer, or with one error: ctx's own, or an *Error
// where the fault is known. It sends the request once; whether it is sent again is decided and
// recorded by who asks.
type Model interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// Error says why there is no answer.
type Error struct {
	Fault   journal.Fault
	Message string        // what happened, in one line; never a key
	Remedy  string        // what a person can do about it, such as a variable to set or a command; "" when nothing
	After   time.Duration // the provider wants no request before this has passed; 0 when it does not say
	Status  int           // of HTTP; 0 when there was none
	Origin  string        // the provider's id of the exchange, where it gave one
	Began   bool          // a part of the answer came, so the provider charges for the request
	Err     error         // the cause; may be nil
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
	}
	return e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Authored is a model whose calls were written by the person who started the run: they need no
// further yes.
type Authored interface {
	Authored() bool
}

// Planner is a model that can say before its first turn what a prompt will need.
type Planner interface {
	// Plan refuses a prompt that the model cannot carry out, and counts the turns that it will
	// take, the last answer included; 0 when it cannot tell. earlier is the transcript of the
	// thread before the prompt.
	Plan(earlier []journal.Message, prompt string) (turns int, err error)
}

// Continuer is a model for which a prompt may ask for what an earlier one of the thread left
// undone.
type Continuer interface {
	Continues(prompt string) bool
}

// Doubter is a model that can say before its first turn what in a prompt it may take otherwise than
// it was meant, a line each.
type Doubter interface {
	Doubts(prompt string) []string
}
