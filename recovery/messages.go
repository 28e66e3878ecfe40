package recovery

// Messages is the transcript that the model is shown: what the thread's earlier runs said, the prompt, and every settled
// turn. The same facts give the same messages, before and after a crash.
func (s *State) Messages() []Message {
	out := append([]Message{}, s.Earlier...)
	return append(out, s.own()...)
}

func (s *State) own() []Message {
	out := []Message{{Role: RoleUser, Blocks: []Block{{Kind: BlockText, Text: s.Created.Prompt}}}}
	for _, t := range s.Turns {
		blocks := append([]Block{}, t.Blocks...)
		var results []Block
		for _, c := range t.Calls {
			blocks = append(blocks, Block{Kind: BlockCall, Call: &CallBlock{
				ID: c.ID, Provider: c.Provider, Tool: c.Tool, Args: c.Args,
			}})
			if c.Result != nil {
				results = append(results, Block{Kind: BlockResult, Result: c.block()})
			}
		}
		if len(blocks) > 0 {
			out = append(out, Message{Role: RoleAssistant, Blocks: blocks})
		}
		if len(results) > 0 {
			out = append(out, Message{Role: RoleTool, Blocks: results})
		}
	}
	return out
}

// block is the call's result as the model sees it. A person's later word on an unknown outcome is part of it.
func (c *Call) block() *ResultBlock {
	r := &ResultBlock{ID: c.ID, Provider: c.Provider, Tool: c.Tool, Outcome: c.Result.Outcome, Text: c.Result.Content}
	if c.Result.Outcome == OutcomeUnknown && c.Ruled == WordHappened {
		r.Outcome = OutcomeOK
		r.Text += "\nA person says that it happened."
	}
	return r
}

// Transcript is what a finished run adds to its thread.
func (s *State) Transcript() []Message { return s.own() }
