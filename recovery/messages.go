package recovery

import "slices"

// Messages is the transcript that the model is shown: what the thread's earlier runs said, the prompt, and every turn. Where
// a summary stands for older messages, it is shown instead of them. The same facts give the same messages, before and after a crash.
// What was built is kept for the next turn, so the slice and what it holds must not be changed; Earlier is set before the
// first call.
func (s *State) Messages() []Message {
	if s.said == nil || s.heard != len(s.Earlier) {
		s.said, s.heard, s.saidTurns = s.opening(), len(s.Earlier), s.shownFrom()
	}
	for s.saidTurns < len(s.Turns) && s.Turns[s.saidTurns].Settled {
		s.said = append(s.said, s.Turns[s.saidTurns].messages()...)
		s.saidTurns++
	}
	out := slices.Clip(s.said)
	for _, t := range s.Turns[s.saidTurns:] {
		out = append(out, t.messages()...)
	}
	return out
}

// Transcript is what a finished run adds to its thread. With alone, it stands for the thread's earlier runs as well.
func (s *State) Transcript() (messages []Message, alone bool) {
	mine := *s
	mine.Earlier = nil
	messages = mine.opening()
	for _, t := range s.Turns[s.shownFrom():] {
		messages = append(messages, t.messages()...)
	}
	return messages, s.summary != nil
}

func (s *State) prompt() Message {
	m := Message{Role: RoleUser, Blocks: []Block{{Kind: BlockText, Text: s.Created.Prompt}}}
	for i := range s.Created.Setup.Images {
		m.Blocks = append(m.Blocks, Block{Kind: BlockImage, Image: &s.Created.Setup.Images[i]})
	}
	return m
}

// messages is the answer of one turn and the results of its calls. An answer without a word and without a call is none. An
// answer that was cut off is followed by the request to go on.
func (t *Turn) messages() []Message {
	blocks := make([]Block, len(t.Blocks), len(t.Blocks)+len(t.Calls))
	copy(blocks, t.Blocks)
	var results []Block
	for _, c := range t.Calls {
		blocks = append(blocks, Block{Kind: BlockCall, Call: &CallBlock{
			ID: c.ID, Provider: c.Provider, Tool: c.Tool, Args: c.Args,
		}})
		if c.Result != nil {
			results = append(results, Block{Kind: BlockResult, Result: c.block()})
		}
	}
	var out []Message
	if len(blocks) > 0 {
		out = append(out, Message{Role: RoleAssistant, Blocks: blocks})
	}
	if len(results) > 0 {
		out = append(out, Message{Role: RoleTool, Blocks: results})
	}
	if t.Stop == AnswerLength && len(t.Calls) == 0 {
		out = append(out, Message{Role: RoleUser, Blocks: []Block{{Kind: BlockText, Text: cutWord}}})
	}
	return out
}

// block is the call's result as the model sees it. A person's later word on an unknown outcome is part of it.
func (c *Call) block() *ResultBlock {
	r := &ResultBlock{ID: c.ID, Provider: c.Provider, Tool: c.Tool, Outcome: c.Result.Outcome, Text: c.Result.Content}
	if c.Result.Outcome == OutcomeUnknown && c.happened {
		r.Outcome = OutcomeOK
		r.Text += "\nA person says that it happened."
	}
	return r
}
