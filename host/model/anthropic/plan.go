package anthropic

import (
	"encoding/json"

	"agent/recovery/journal"
)

// goOn is what the user says where the API wants a word of theirs and nobody said one.
const goOn = "Go on."

// noResult stands where a call has no result: the API takes no call without one.
const noResult = "No result of this call is recorded."

// side is one message as the API takes it: the user's and the assistant's alternate, and the first
// and the last are the user's.
type side struct {
	assistant bool
	blocks    []journal.Block
	first     int // of the messages: where an assistant's side begins
}

// opaque is what Block.Opaque holds under "anthropic".
type opaque struct {
	Signature string          `json:"signature,omitempty"` // of thinking
	Unsigned  bool            `json:"unsigned,omitempty"`  // thinking of a server that signs none
	Redacted  string          `json:"redacted,omitempty"`  // thinking that is not shown
	Prefix    string          `json:"prefix,omitempty"`    // digest of what stood before the answer that the block is in
	Raw       json.RawMessage `json:"raw,omitempty"`       // a block of a kind that has no name here, whole
	After     int             `json:"after,omitempty"`     // calls of the same answer that stand before the block
}

const protocol = "anthropic"

// opaqueOf reads Block.Opaque. It reports false when the block holds nothing of this protocol.
func opaqueOf(b journal.Block) (o opaque, ok bool) {
	if len(b.Opaque) == 0 {
		return o, false
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(b.Opaque, &all) != nil || all[protocol] == nil {
		return o, false // written by another protocol, which may keep there what it likes
	}
	return o, json.Unmarshal(all[protocol], &o) == nil
}

func (o opaque) seal() (json.RawMessage, error) {
	return json.Marshal(map[string]opaque{protocol: o})
}

// plan lays a conversation out in alternating sides. Where it goes on behind a user's side, it
// begins with an assistant's.
func plan(messages []journal.Message, goesOn bool) []side {
	var out []side
	var calls []string // of the last assistant's message, until their results stand
	user := func(blocks []journal.Block) {
		if n := len(out); n > 0 && !out[n-1].assistant {
			out[n-1].blocks = append(out[n-1].blocks, blocks...)
			return
		}
		out = append(out, side{blocks: blocks})
	}
	for i := 0; i < len(messages); {
		if messages[i].Role == journal.RoleAssistant {
			blocks := spoken(messages[i].Blocks)
			i++
			if n := len(out); n == 0 && !goesOn || n > 0 && out[n-1].assistant {
				user(answered(calls)) // as the request for this answer ended
				calls = nil
			}
			if len(blocks) == 0 {
				continue
			}
			out = append(out, side{assistant: true, blocks: blocks, first: i - 1})
			calls = callsOf(blocks)
			continue
		}
		var group []journal.Block
		for ; i < len(messages) && messages[i].Role != journal.RoleAssistant; i++ {
			group = append(group, messages[i].Blocks...)
		}
		if blocks := heard(calls, group); len(blocks) > 0 {
			user(blocks)
			calls = nil
		}
	}
	if n := len(out); n == 0 || out[n-1].assistant {
		user(answered(calls))
	}
	return out
}

// answered is a user's side for calls without a result, or goOn.
func answered(calls []string) []journal.Block {
	if blocks := heard(calls, nil); len(blocks) > 0 {
		return blocks
	}
	return []journal.Block{{Kind: journal.BlockText, Text: goOn}}
}

// heard is a user's side: the results of all the calls before it, in the order of the calls, then
// everything else. A result of a call that is not there, which the API refuses, becomes text.
func heard(calls []string, group []journal.Block) []journal.Block {
	var results, rest []journal.Block
	at := make(map[string]int, len(calls))
	for i, id := range calls {
		at[id] = i
		results = append(results, journal.Block{Kind: journal.BlockResult, Result: &journal.ResultBlock{
			ID: id, Outcome: journal.OutcomeUnknown, Text: noResult,
		}})
	}
	for _, b := range group {
		switch {
		case b.Kind == journal.BlockText && !blank(b.Text), b.Kind == journal.BlockImage && b.Image != nil:
			rest = append(rest, b)
		case b.Kind == journal.BlockResult && b.Result != nil:
			if i, ok := at[b.Result.ID]; ok {
				results[i] = b
				delete(at, b.Result.ID)
				continue
			}
			text := "Result of " + b.Result.Tool + " (" + string(b.Result.Outcome) + "): " + b.Result.Text
			rest = append(rest, journal.Block{Kind: journal.BlockText, Text: text})
		}
	}
	return append(results, rest...)
}

// spoken is an assistant's side in the order in which it came: the journal keeps calls behind
// everything else. What is only reasoning is nothing said, and reasoning at the end has nothing
// that it led to.
func spoken(blocks []journal.Block) []journal.Block {
	var calls, out []journal.Block
	for _, b := range blocks {
		if b.Kind == journal.BlockCall && b.Call != nil {
			calls = append(calls, b)
		}
	}
	written := 0
	for _, b := range blocks {
		o, ours := opaqueOf(b)
		switch b.Kind {
		case journal.BlockCall:
			if b.Call != nil && written < len(calls) && calls[written].Call == b.Call {
				out = append(out, b)
				written++
			}
			continue
		case journal.BlockText:
			if blank(b.Text) {
				continue
			}
		case journal.BlockReasoning:
			if !ours || !o.Unsigned && o.Signature == "" && o.Redacted == "" && len(o.Raw) == 0 {
				continue
			}
		default:
			continue
		}
		for ; written < min(o.After, len(calls)); written++ {
			out = append(out, calls[written])
		}
		out = append(out, b)
	}
	for len(out) > 0 && out[len(out)-1].Kind == journal.BlockReasoning && written == len(calls) {
		out = out[:len(out)-1]
	}
	return append(out, calls[written:]...)
}

func callsOf(blocks []journal.Block) []string {
	var ids []string
	for _, b := range blocks {
		if b.Kind == journal.BlockCall {
			ids = append(ids, b.Call.ID)
		}
	}
	return ids
}

// loop follows whether a conversation ends in calls of an answer that began without thinking, side
// by side. A word of the user's behind the results of its calls, as in a thread whose last run was
// cancelled, does not end the answer
// (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, "Toggling thinking
// modes in conversations").
type loop struct {
	asked bool // the user said something, and not only what came of calls
	plain bool // the answer to that began without thinking
	open  bool // there is none yet
}

func (l *loop) add(s side) {
	switch first := s.blocks[0].Kind; {
	case !s.assistant && first != journal.BlockResult: // results come first
		*l = loop{asked: true, open: true}
	case s.assistant && l.open:
		l.open, l.plain = false, first != journal.BlockReasoning
	}
}

func (l loop) looped() bool { return !l.asked || l.plain }
