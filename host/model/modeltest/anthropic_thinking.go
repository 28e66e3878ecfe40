package modeltest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// assistant checks what the client says the model said: signatures as they were given, ids that are
// unique.
func (p *anthropicParser) assistant(i int, blocks []anthropicBlock) ([]string, *refusal) {
	var open []string
	e := entry{from: assistant}
	for k, b := range blocks {
		if len(b.Cache) > 0 && (b.Type == "thinking" || b.Type == "redacted_thinking") {
			return nil, invalid("messages.%d.content.%d.%s.cache_control: Extra inputs are not permitted", i, k, b.Type)
		}
		switch b.Type {
		case "text":
			if why := p.said(b); why != "" {
				return nil, invalid("messages.%d.content.%d: %s", i, k, why)
			}
			e.text += b.Text
		case "thinking":
			if b.Signature == "" {
				return nil, invalid("messages.%d.content.%d.thinking.signature: Field required", i, k)
			}
			if !unsealed(b.Signature, b.Thinking) {
				return nil, invalid("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, k)
			}
			e.think = append(e.think, b.Thinking)
		case "redacted_thinking":
			if !unsealed(b.Data, "") {
				return nil, invalid("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, k)
			}
			e.think = append(e.think, "")
		case "tool_use":
			if bad := p.toolUse(i, k, b); bad != nil {
				return nil, bad
			}
			open = append(open, b.ID)
			e.calls = append(e.calls, said{b.ID, b.Name, string(b.Input)})
		default:
			return nil, invalid("messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags for an assistant", i, k, b.Type)
		}
	}
	p.ask.entries = append(p.ask.entries, e)
	return open, nil
}

func (p *anthropicParser) toolUse(i, k int, b anthropicBlock) *refusal {
	if !plainName(b.ID, 256) {
		return invalid("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, k)
	}
	if p.ids[b.ID] {
		return invalid("messages.%d.content.%d: `tool_use` ids must be unique", i, k)
	}
	p.ids[b.ID] = true
	if !plainName(b.Name, 200) {
		return invalid("messages.%d.content.%d.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'", i, k)
	}
	var input map[string]json.RawMessage
	if err := json.Unmarshal(b.Input, &input); err != nil || !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")) {
		return invalid("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, k)
	}
	return nil
}

// thoughts are the rules for the last answer: with thinking on, one whose calls are answered now
// began with its thinking, and nothing is put into the model's mouth.
func (p *anthropicParser) thoughts(r *anthropicRequest) *refusal {
	n := len(r.Messages) - 1
	if r.Messages[n].Role == "user" && r.Thinking.Type == "enabled" {
		if bad := thoughtFirst(r); bad != nil {
			return bad
		}
	}
	if r.Messages[n].Role != "assistant" {
		return nil
	}
	e := p.ask.entries[len(p.ask.entries)-1]
	if strings.TrimRight(e.text, " \n\t") != e.text {
		return invalid("messages: final assistant content cannot end with trailing whitespace")
	}
	if p.ask.thinking && len(e.think) == 0 {
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

// thoughtFirst looks at the message in which the answer began that the last results are for.
func thoughtFirst(r *anthropicRequest) *refusal {
	for i := len(r.Messages) - 1; i > 0; i-- {
		_, blocks, err := blocksOf(r.Messages[i].Content)
		if err != nil {
			return invalid("messages.%d.content: %v", i, err)
		}
		if r.Messages[i].Role == "assistant" || blocks[0].Type == "tool_result" {
			continue
		}
		return begunWithThought(r, i+1)
	}
	return begunWithThought(r, 1)
}

func begunWithThought(r *anthropicRequest, i int) *refusal {
	if i >= len(r.Messages)-1 {
		return nil
	}
	_, blocks, err := blocksOf(r.Messages[i].Content)
	if err != nil {
		return invalid("messages.%d.content: %v", i, err)
	}
	if first := blocks[0].Type; first != "thinking" && first != "redacted_thinking" {
		return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).", i, first)
	}
	return nil
}
