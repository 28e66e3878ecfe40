package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"agent/host/model"
	"agent/recovery/journal"
)

// cutMark ends the arguments of a call that the answer's limit may have cut. Text behind a JSON
// value is no JSON, and what was cut inside a string stays inside it, since the mark has no quote:
// so such arguments are never valid, even if what came of them happens to be.
const cutMark = " [cut off here by the limit of the answer's length]"

// unfinishedError says that a stream ended, or said that it did, before the answer was whole.
type unfinishedError struct{ what string }

func (e *unfinishedError) Error() string { return e.what }

// answer makes the whole answer. prefix is the digest of the request.
//
// A stop reason that is not known is an error and not an answer: whether its calls are whole is not
// known, so none may run, and a text that may be a part must not pass for the end.
func (a *assembly) answer(prefix string) (*model.Answer, error) {
	if len(a.open) > 0 {
		return nil, &unfinishedError{"a block of the answer never ended"}
	}
	out := &model.Answer{Usage: a.usage.total(), Served: a.served, Origin: a.id}
	calls := 0
	for _, p := range a.parts {
		b, ok, err := p.finish(prefix, calls)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if b.Kind == journal.BlockCall {
			calls++
		}
		out.Blocks = append(out.Blocks, b)
	}
	switch a.stop {
	case "":
		return nil, &unfinishedError{"the answer ended without a stop reason"}
	case "end_turn", "stop_sequence", "tool_use":
		out.Stop = ended(calls, journal.AnswerEnd)
	case "pause_turn":
		out.Stop = ended(calls, journal.AnswerPause)
	case "max_tokens", "model_context_window_exceeded":
		out.Stop = journal.AnswerLength
		if n := len(a.parts); n > 0 && a.parts[n-1].Type == "tool_use" {
			c := out.Blocks[len(out.Blocks)-1].Call
			c.Args = append(bytes.Clone(c.Args), cutMark...)
		}
	case "refusal":
		a.refuse(out)
	default:
		return nil, broken("the answer ended with the stop reason %q, which this version does not know", a.stop)
	}
	return out, nil
}

// ended tells an answer that waits for its calls from one that does not. Servers that are
// compatible say end_turn for both.
func ended(calls int, otherwise journal.AnswerStop) journal.AnswerStop {
	if calls > 0 {
		return journal.AnswerCalls
	}
	return otherwise
}

// refuse takes out the calls of a refused answer, which was broken off, and gives the provider's
// reason where there is no other word.
func (a *assembly) refuse(out *model.Answer) {
	out.Stop = journal.AnswerRefuse
	kept, said := out.Blocks[:0], false
	for _, b := range out.Blocks {
		if b.Kind != journal.BlockCall {
			kept = append(kept, b)
			said = said || b.Kind == journal.BlockText
		}
	}
	if !said && !blank(a.why) {
		kept = append(kept, journal.Block{Kind: journal.BlockText, Text: a.why})
	}
	out.Blocks = kept
}

// finish makes a block of what came; calls is how many calls stand before it. It reports false for
// a block that says nothing and need not go back.
func (p *part) finish(prefix string, calls int) (b journal.Block, ok bool, err error) {
	o := opaque{After: calls}
	switch p.Type {
	case "text":
		if p.text.Len() == 0 {
			return b, false, nil
		}
		b = journal.Block{Kind: journal.BlockText, Text: p.text.String()}
		if calls == 0 {
			return b, true, nil
		}
	case "tool_use":
		return journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{
			Provider: p.ID, Tool: p.Name, Args: p.arguments(),
		}}, true, nil
	case "thinking":
		o.Signature, o.Prefix = p.sign.String(), prefix
		b = journal.Block{Kind: journal.BlockReasoning, Text: p.text.String()}
		if o.Signature == "" {
			if b.Text == "" {
				return b, false, nil
			}
			o.Unsigned = true
		}
	case "redacted_thinking":
		o.Redacted, o.Prefix = p.Data, prefix
		b = journal.Block{Kind: journal.BlockReasoning}
	default:
		if p.odd {
			return b, false, nil
		}
		o.Raw, o.Prefix = p.raw, prefix
		b = journal.Block{Kind: journal.BlockReasoning}
	}
	b.Opaque, err = o.seal()
	if err != nil {
		return b, false, fmt.Errorf("keep a block of kind %s: %w", p.Type, err)
	}
	return b, true, nil
}

// arguments are the call's, byte for byte as the model wrote them, JSON or not. Some servers give
// them whole with the block's start; a call without any has none to give.
func (p *part) arguments() json.RawMessage {
	if p.text.Len() > 0 {
		return bytes.Clone(p.text.Bytes())
	}
	if len(p.Input) > 0 && string(p.Input) != "null" {
		return p.Input
	}
	return json.RawMessage("{}")
}
