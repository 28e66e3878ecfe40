package transcript

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
	"strings"
)

// Run is the run that is shown, as its facts have left it.
type Run struct {
	Created *journal.RunCreated
	Earlier []journal.Message // what the thread's earlier runs add
	Turns   Turns
}

// Turns are the turns that were answered, from 0.
type Turns interface {
	Len() int
	At(i int) Turn
	Settled(i int) bool // every call of it has its result, and nothing is added to it
}

// Turn is one answer of the model, and what came of its calls.
type Turn struct {
	Blocks []journal.Block
	Calls  []Call
	Stop   journal.AnswerStop
}

// Call is one call as the model is shown it.
type Call struct {
	*journal.Proposal
	Result   *journal.Result // nil until there is one
	Happened bool            // a person said that it did, after its outcome was unknown
}

// Transcript keeps, beside the run, what a person added, the summary and the estimate, and what was
// built of the messages.
type Transcript struct {
	added   []addedMessage // what a person wrote to the model after the prompt, in order
	summary *journal.ContextCompacted
	context window

	built []journal.Message // the earlier runs, the prompt and the settled turns
	heard int               // messages of earlier runs in it
	turns int               // turns in it
}

// addedMessage is a message that a person added, with the turn, from 1, whose request shows it
// first.
type addedMessage struct {
	turn int
	journal.MessageAdded
}

// Messages is what the model is shown. What was built is kept for the next turn, so the slice and
// what it holds must not be changed; Earlier is set before the first call.
func (t *Transcript) Messages(r Run) []journal.Message {
	if t.built == nil || t.heard != len(r.Earlier) {
		t.built, t.heard, t.turns = t.opening(r), len(r.Earlier), t.shownFrom()
	}
	if more := r.Turns.Len() - t.turns; more > 1 {
		t.built = slices.Grow(t.built, 2*more) // most turns are an answer and its results
	}
	for t.turns < r.Turns.Len() && r.Turns.Settled(t.turns) {
		t.built = t.turn(t.built, r, t.turns+1)
		t.turns++
	}
	out := slices.Clip(t.built)
	for n := t.turns + 1; n <= r.Turns.Len()+1; n++ {
		out = t.turn(out, r, n)
	}
	return out
}

// Addition is what a finished run adds to its thread. With alone, it stands for the thread's
// earlier runs as well.
func (t *Transcript) Addition(r Run) (messages []journal.Message, alone bool) {
	r.Earlier = nil
	messages = t.opening(r)
	for n := t.shownFrom() + 1; n <= r.Turns.Len()+1; n++ {
		messages = t.turn(messages, r, n)
	}
	return messages, t.summary != nil
}

// Forget drops what was built: a settled turn reads otherwise than before.
func (t *Transcript) Forget() { t.built = nil }

// Add takes a message that a person added before the answer of a turn.
func (t *Transcript) Add(r Run, turn int, b journal.MessageAdded) error {
	switch {
	case turn <= r.Turns.Len():
		return fmt.Errorf("turn %d was answered already", turn)
	case r.Created.Authored:
		return fmt.Errorf("the calls of this run were written before it began: there is no model to read a message")
	case strings.TrimSpace(b.Text) == "":
		return fmt.Errorf("the message is empty")
	}
	t.added = append(t.added, addedMessage{turn, b})
	return nil
}

// AddedBefore says whether a person added a message before the answer of a turn, from 1.
func (t *Transcript) AddedBefore(turn int) bool {
	return slices.ContainsFunc(t.added, func(m addedMessage) bool { return m.turn == turn })
}

// Unread says whether a person added a message that the model was not asked with yet, given the
// turns that it answered.
func (t *Transcript) Unread(answered int) bool {
	return len(t.added) > 0 && t.added[len(t.added)-1].turn > answered
}

// opening is what stands before the turns that the model is shown: the thread's earlier runs, or
// the summary that stands for them, and the prompt.
func (t *Transcript) opening(r Run) []journal.Message {
	p := prompt(r.Created)
	if t.summary == nil {
		return append(slices.Clone(r.Earlier), p)
	}
	p.Blocks = slices.Insert(p.Blocks, 0, journal.Block{Kind: journal.BlockText, Text: summaryHead + t.summary.Summary})
	return []journal.Message{p}
}

func prompt(c *journal.RunCreated) journal.Message {
	m := journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: c.Prompt + inputBlock(c)}}}
	for i := range c.Setup.Images {
		m.Blocks = append(m.Blocks, journal.Block{Kind: journal.BlockImage, Image: &c.Setup.Images[i]})
	}
	return m
}

// turn appends what a turn, from 1, adds to the transcript: what a person added before it, its
// answer and its results. Of the turn that comes next it is the first alone.
func (t *Transcript) turn(out []journal.Message, r Run, turn int) []journal.Message {
	for _, m := range t.added {
		if m.turn == turn {
			out = append(out, journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: m.Text}}})
		}
	}
	if turn <= r.Turns.Len() {
		out = r.Turns.At(turn - 1).messages(out)
	}
	return out
}

const cutOff = "Your answer was cut off because it reached its length limit. Go on exactly where it stopped, without repeating anything."

// messages appends the answer of one turn and the results of its calls. An answer without text and
// without a call is none. An answer that was cut off is followed by the request to go on.
func (t Turn) messages(out []journal.Message) []journal.Message {
	blocks := make([]journal.Block, len(t.Blocks), len(t.Blocks)+len(t.Calls))
	copy(blocks, t.Blocks)
	var results []journal.Block
	for _, c := range t.Calls {
		blocks = append(blocks, journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{
			ID: c.ID, Provider: c.Provider, Tool: c.Tool, Args: c.Args,
		}})
		if c.Result != nil {
			results = append(results, journal.Block{Kind: journal.BlockResult, Result: c.block()})
		}
	}
	if len(blocks) > 0 {
		out = append(out, journal.Message{Role: journal.RoleAssistant, Blocks: blocks})
	}
	if len(results) > 0 {
		out = append(out, journal.Message{Role: journal.RoleTool, Blocks: results})
	}
	if t.Stop == journal.AnswerLength && len(t.Calls) == 0 {
		out = append(out, journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: cutOff}}})
	}
	return out
}

// block is the call's result as the model sees it. A person's later word on an unknown outcome is
// part of it.
func (c Call) block() *journal.ResultBlock {
	r := &journal.ResultBlock{ID: c.ID, Provider: c.Provider, Tool: c.Tool, Outcome: c.Result.Outcome, Text: c.Result.Content}
	if c.Result.Outcome == journal.OutcomeUnknown && c.Happened {
		r.Outcome = journal.OutcomeOK
		r.Text += "\nA person says that it happened."
	}
	return r
}
