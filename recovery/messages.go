package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
	"strings"
)

// Messages is the transcript that the model is shown: what the thread's earlier runs said, the prompt, and every turn. Where
// a summary stands for older messages, it is shown instead of them. The same facts give the same messages, before and after a crash.
// What was built is kept for the next turn, so the slice and what it holds must not be changed; Earlier is set before the
// first call.
func (s *State) Messages() []journal.Message {
	if s.said == nil || s.heard != len(s.Earlier) {
		s.said, s.heard, s.saidTurns = s.opening(), len(s.Earlier), s.shownFrom()
	}
	for s.saidTurns < len(s.Turns) && s.Turns[s.saidTurns].Settled {
		s.said = append(s.said, s.turnMessages(s.saidTurns+1)...)
		s.saidTurns++
	}
	out := slices.Clip(s.said)
	for n := s.saidTurns + 1; n <= len(s.Turns)+1; n++ {
		out = append(out, s.turnMessages(n)...)
	}
	return out
}

// Transcript is what a finished run adds to its thread. With alone, it stands for the thread's earlier runs as well.
func (s *State) Transcript() (messages []journal.Message, alone bool) {
	mine := *s
	mine.Earlier = nil
	messages = mine.opening()
	for n := s.shownFrom() + 1; n <= len(s.Turns)+1; n++ {
		messages = append(messages, s.turnMessages(n)...)
	}
	return messages, s.summary != nil
}

func (s *State) prompt() journal.Message {
	m := journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: s.Created.Prompt + inputBlock(s.Created)}}}
	for i := range s.Created.Setup.Images {
		m.Blocks = append(m.Blocks, journal.Block{Kind: journal.BlockImage, Image: &s.Created.Setup.Images[i]})
	}
	return m
}

// addedMessage is a message that a person added, with the turn, from 1, whose request shows it first.
type addedMessage struct {
	turn int
	journal.MessageAdded
}

func (s *State) messageAdded(turn int, b journal.MessageAdded) error {
	switch {
	case turn <= len(s.Turns):
		return fmt.Errorf("turn %d was answered already", turn)
	case s.Created.Authored:
		return fmt.Errorf("the calls of this run were written before it began: there is no model to read a message")
	case strings.TrimSpace(b.Text) == "":
		return fmt.Errorf("the message is empty")
	}
	s.added = append(s.added, addedMessage{turn, b})
	return nil
}

// unread says whether a person added a message that the model was not asked with yet.
func (s *State) unread() bool {
	return len(s.added) > 0 && s.added[len(s.added)-1].turn > len(s.Turns)
}

// addedBefore is what a person added before the answer of a turn, from 1.
func (s *State) addedBefore(turn int) []journal.Message {
	var out []journal.Message
	for _, m := range s.added {
		if m.turn == turn {
			out = append(out, journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: m.Text}}})
		}
	}
	return out
}

// turnMessages is what a turn, from 1, adds to the transcript: what a person added before it, its answer and its results. Of the
// turn that comes next it is the first alone.
func (s *State) turnMessages(turn int) []journal.Message {
	out := s.addedBefore(turn)
	if turn <= len(s.Turns) {
		out = append(out, s.Turns[turn-1].messages()...)
	}
	return out
}

// messages is the answer of one turn and the results of its calls. An answer without text and without a call is none. An
// answer that was cut off is followed by the request to go on.
func (t *Turn) messages() []journal.Message {
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
	var out []journal.Message
	if len(blocks) > 0 {
		out = append(out, journal.Message{Role: journal.RoleAssistant, Blocks: blocks})
	}
	if len(results) > 0 {
		out = append(out, journal.Message{Role: journal.RoleTool, Blocks: results})
	}
	if t.Stop == journal.AnswerLength && len(t.Calls) == 0 {
		out = append(out, journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: cutWord}}})
	}
	return out
}

// block is the call's result as the model sees it. A person's later word on an unknown outcome is part of it.
func (c *Call) block() *journal.ResultBlock {
	r := &journal.ResultBlock{ID: c.ID, Provider: c.Provider, Tool: c.Tool, Outcome: c.Result.Outcome, Text: c.Result.Content}
	if c.Result.Outcome == journal.OutcomeUnknown && c.happened {
		r.Outcome = journal.OutcomeOK
		r.Text += "\nA person says that it happened."
	}
	return r
}
