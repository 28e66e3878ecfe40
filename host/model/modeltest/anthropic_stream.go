package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// answer is what is to be said, and with which ids.
type answer struct {
	turn     Turn
	model    string
	exchange int // makes ids new
	number   int // of the turn, from 0
	chunk    int
	quirks   Quirks
	ask      *ask
	fresh    int // tokens that are read afresh
	read     int // tokens that come from the cache
	written  int // tokens that go to it
	at       int64
}

// callID is the provider's id of a call, as the quirks have it.
func (a *answer) callID(prefix string, index int) string {
	switch a.quirks.IDs {
	case "none":
		return ""
	case "same":
		index = 0
	case "turns":
		return "call_" + string(rune('0'+index))
	}
	return prefix + identity("call", a.exchange, index, 24)
}

// arguments are those of a call; the last call of an answer that its length cuts off has half of
// them.
func (a *answer) arguments(i int) string {
	text := a.turn.Calls[i].arguments()
	if a.turn.Stop == StopLength && i == len(a.turn.Calls)-1 {
		return text[:len(text)/2]
	}
	return text
}

func (a *answer) argumentPieces(i int) []string {
	if a.quirks.Whole {
		return []string{a.arguments(i)}
	}
	return pieces(a.arguments(i), a.chunk)
}

// written tokens of the answer.
func (a *answer) output() (all, reasoning int) {
	reasoning = tokens(len(a.turn.Thinking))
	all = reasoning + tokens(len(a.turn.Text)) + 3
	for i := range a.turn.Calls {
		all += tokens(len(a.arguments(i))) + 10
	}
	return all, reasoning
}

func (m messages) stopReason(t Turn) string {
	switch t.Stop {
	case StopLength:
		return "max_tokens"
	case StopPause:
		return "pause_turn"
	case StopRefuse:
		return "refusal"
	}
	if len(t.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func (m messages) usage(a *answer, output int) obj {
	return obj{
		"input_tokens": a.fresh, "cache_creation_input_tokens": a.written, "cache_read_input_tokens": a.read, "output_tokens": output,
		"cache_creation": obj{"ephemeral_5m_input_tokens": a.written, "ephemeral_1h_input_tokens": 0}, "service_tier": "standard",
	}
}

func (m messages) message(a *answer) obj {
	return obj{
		"id": "msg_01" + identity("msg", a.exchange, 0, 22), "type": "message", "role": "assistant", "model": a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
	}
}

// render writes the events in the order in which the provider documents them.
func (m messages) render(a *answer) *stream {
	s := &stream{named: true, crlf: a.quirks.CRLF}
	head := m.message(a)
	head["usage"] = m.usage(a, 1)
	s.event("message_start", obj{"type": "message_start", "message": head})
	for i, b := range m.blocks(a) {
		m.block(s, a, i, b)
		if i == 0 {
			s.event("ping", obj{"type": "ping"})
		}
	}
	delta := obj{"type": "message_delta", "delta": obj{"stop_reason": m.stopReason(a.turn), "stop_sequence": nil}}
	if !a.quirks.NoUsage {
		all, _ := a.output()
		delta["usage"] = obj{
			"input_tokens": a.fresh, "cache_creation_input_tokens": a.written, "cache_read_input_tokens": a.read, "output_tokens": all,
		}
	} else {
		delta["usage"] = obj{"output_tokens": 0}
	}
	s.event("message_delta", delta)
	s.event("message_stop", obj{"type": "message_stop"})
	return s
}

// blocks are the content of the whole answer.
func (m messages) blocks(a *answer) []obj {
	var out []obj
	if t := a.turn.Thinking; t != "" && a.ask.thinking {
		nonce := identity("thinking", a.exchange, 0, 64)
		if a.turn.Redacted {
			out = append(out, obj{"type": "redacted_thinking", "data": seal(nonce, "")})
		} else {
			out = append(out, obj{"type": "thinking", "thinking": t, "signature": seal(nonce, t)})
		}
	}
	if a.turn.Text != "" {
		out = append(out, obj{"type": "text", "text": a.turn.Text})
	}
	for i, c := range a.turn.Calls {
		out = append(out, obj{"type": "tool_use", "id": a.callID("toolu_01", i), "name": c.Tool, "input": a.arguments(i)})
	}
	return out
}

func (m messages) block(s *stream, a *answer, i int, b obj) {
	start := func(block obj) {
		s.event("content_block_start", obj{"type": "content_block_start", "index": i, "content_block": block})
	}
	delta := func(d obj) {
		s.event("content_block_delta", obj{"type": "content_block_delta", "index": i, "delta": d})
	}
	switch b["type"] {
	case "redacted_thinking":
		start(b)
	case "thinking":
		start(obj{"type": "thinking", "thinking": "", "signature": ""})
		for _, p := range pieces(a.turn.Thinking, a.chunk) {
			delta(obj{"type": "thinking_delta", "thinking": p})
		}
		delta(obj{"type": "signature_delta", "signature": b["signature"]})
	case "text":
		start(obj{"type": "text", "text": ""})
		for _, p := range pieces(a.turn.Text, a.chunk) {
			delta(obj{"type": "text_delta", "text": p})
			s.noteText(i)
		}
	case "tool_use":
		start(obj{"type": "tool_use", "id": b["id"], "name": b["name"], "input": obj{}})
		delta(obj{"type": "input_json_delta", "partial_json": ""})
		text, _ := b["input"].(string)
		parts := pieces(text, a.chunk)
		if a.quirks.Whole {
			parts = []string{text}
		}
		for _, p := range parts {
			delta(obj{"type": "input_json_delta", "partial_json": p})
		}
	}
	s.event("content_block_stop", obj{"type": "content_block_stop", "index": i})
}

// whole is the answer to a request that wants no stream.
func (m messages) whole(a *answer) any {
	out := m.message(a)
	blocks := m.blocks(a)
	for _, b := range blocks {
		if b["type"] == "tool_use" {
			text, _ := b["input"].(string)
			b["input"] = json.RawMessage(text)
			if !json.Valid([]byte(text)) {
				b["input"] = obj{}
			}
		}
	}
	out["content"], out["stop_reason"] = append([]obj{}, blocks...), m.stopReason(a.turn)
	all, _ := a.output()
	out["usage"] = m.usage(a, all)
	return out
}

func (m messages) refuse(r *refusal, id string) (any, http.Header) {
	kind := r.kind
	if k := map[int]string{
		401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
	}[r.status]; k != "" {
		kind = k
	}
	return obj{"type": "error", "error": obj{"type": kind, "message": r.message}, "request_id": id}, http.Header{"Request-Id": {id}}
}

func (m messages) trouble(k Kind, a *answer) *refusal {
	switch k {
	case RateLimit:
		return &refusal{status: 429, message: "This request would exceed your organization's rate limit of 50 requests per minute."}
	case Overloaded:
		return &refusal{status: 529, message: "Overloaded"}
	case Failing:
		return &refusal{status: 500, message: "Internal server error"}
	case NoCredit:
		return invalid("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case NoModel:
		return &refusal{status: 404, message: "model: " + a.model}
	case TooLong:
		return invalid("prompt is too long: %d tokens > 200000 maximum", 200000+tokens(len(strings.Join(a.ask.prefix, ""))))
	case Filtered:
		return invalid("Output blocked by content filtering policy")
	case Refused:
		return invalid("messages.0.content.0: this request is refused for a reason of its own")
	}
	return nil
}

func (m messages) errorEvent(s *stream) {
	s.event("error", obj{"type": "error", "error": obj{"type": "overloaded_error", "message": "Overloaded"}})
}

func (m messages) ping(s *stream) { s.event("ping", obj{"type": "ping"}) }

// more is one more piece of text behind what was sent.
func (m messages) more(s *stream, a *answer, text string) {
	s.event("content_block_delta", obj{"type": "content_block_delta", "index": s.textIndex, "delta": obj{"type": "text_delta", "text": text}})
}
