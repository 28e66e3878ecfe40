package modeltest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// itemID names an item of an answer. It tells the exchange and whether that one reasoned, so that a
// server which keeps nothing can see when the reasoning is left out.
func itemID(prefix string, a *answer, index int) string {
	flag := "0"
	if a.turn.Thinking != "" {
		flag = "a"
	}
	return prefix + "_" + identity("item", a.exchange, 0, 24) + flag + identity(prefix, a.exchange, index, 12)
}

func exchangeOf(id string) string {
	_, rest, _ := strings.Cut(id, "_")
	if len(rest) < 24 {
		return rest
	}
	return rest[:24]
}

func needsReasoning(id string) bool {
	_, rest, _ := strings.Cut(id, "_")
	return len(rest) == 37 && rest[24] == 'a'
}

// message checks a message item.
func (p *responsesParser) message(i int, it responsesItem) *refusal {
	at := "input[" + itoa(i) + "]"
	var text string
	if json.Unmarshal(it.Content, &text) != nil {
		var parts []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
			Image   string `json:"image_url"`
		}
		if err := json.Unmarshal(it.Content, &parts); err != nil {
			return param(invalid("Invalid type for '%s.content'.", at), at+".content", "invalid_type")
		}
		for k, c := range parts {
			ok := it.Role == "assistant" && (c.Type == "output_text" || c.Type == "refusal") ||
				it.Role != "assistant" && (c.Type == "input_text" || c.Type == "input_image")
			if !ok {
				return param(invalid("Invalid value: '%s'.", c.Type), at+".content["+itoa(k)+"].type", "invalid_value")
			}
			if c.Type == "input_image" {
				media, data, _ := strings.Cut(strings.TrimPrefix(c.Image, "data:"), ";base64,")
				if why := picture(media, data); why != "" && !strings.HasPrefix(c.Image, "http") {
					return param(invalid("Invalid '%s.content[%d].image_url': %s", at, k, why), "input", "invalid_value")
				}
			}
			text += c.Text + c.Refusal
			if it.Role != "assistant" && k < len(parts)-1 {
				text += "\n"
			}
		}
	}
	switch it.Role {
	case "assistant":
		if it.ID != "" && !strings.HasPrefix(it.ID, "msg") {
			return param(invalid("Invalid '%s.id': '%s'. Expected an ID that begins with 'msg'.", at, it.ID), at+".id", "invalid_value")
		}
		p.model().text += text
	case "user":
		p.ask.entries = append(p.ask.entries, entry{from: person, text: text})
	case "system", "developer":
	default:
		return param(invalid("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role), at+".role", "invalid_value")
	}
	return nil
}

// items is the output of the whole answer.
func (responses) items(a *answer) []obj {
	var out []obj
	if t := a.turn.Thinking; t != "" {
		id := itemID("rs", a, 0)
		summary, text := []obj{}, ""
		if a.ask.thinking {
			summary, text = []obj{{"type": "summary_text", "text": t}}, t
		}
		item := obj{"id": id, "type": "reasoning", "summary": summary}
		if a.ask.sealed {
			item["encrypted_content"] = seal(identity("thinking", a.exchange, 0, 64), id+text)
		}
		out = append(out, item)
	}
	if a.turn.Text != "" {
		part := obj{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": a.turn.Text}
		if a.turn.Stop == StopRefuse {
			part = obj{"type": "refusal", "refusal": a.turn.Text}
		}
		out = append(out, obj{"id": itemID("msg", a, 1), "type": "message", "status": "completed", "role": "assistant", "content": []any{part}})
	}
	for i, c := range a.turn.Calls {
		status := "completed"
		if a.turn.Stop == StopLength && i == len(a.turn.Calls)-1 {
			status = "incomplete"
		}
		out = append(out, obj{
			"id": itemID("fc", a, 2+i), "type": "function_call", "status": status, "arguments": a.arguments(i), "call_id": a.callID("call_", i), "name": c.Tool,
		})
	}
	return out
}

func (responses) response(a *answer, status string, output []obj) obj {
	all, reasoning := a.output()
	out := obj{
		"id": "resp_" + identity("resp", a.exchange, 0, 48), "object": "response", "created_at": a.at, "status": status, "background": false,
		"error": nil, "incomplete_details": nil, "instructions": nil, "max_output_tokens": nil, "model": a.model, "output": append([]obj{}, output...),
		"parallel_tool_calls": true, "previous_response_id": nil, "reasoning": obj{"effort": nil, "summary": nil}, "service_tier": "default",
		"store": false, "temperature": 1.0, "text": obj{"format": obj{"type": "text"}, "verbosity": "medium"}, "tool_choice": "auto", "tools": []any{},
		"top_p": 1.0, "truncation": "disabled", "usage": nil, "user": nil, "metadata": obj{},
	}
	if status != "in_progress" && !a.quirks.NoUsage {
		in := a.fresh + a.read + a.written
		out["usage"] = obj{
			"input_tokens": in, "input_tokens_details": obj{"cached_tokens": a.read}, "output_tokens": all,
			"output_tokens_details": obj{"reasoning_tokens": reasoning}, "total_tokens": in + all,
		}
	}
	switch {
	case status == "incomplete" && a.turn.Stop == StopRefuse:
		out["incomplete_details"] = obj{"reason": "content_filter"}
	case status == "incomplete":
		out["incomplete_details"] = obj{"reason": "max_output_tokens"}
	}
	return out
}

func (responses) ending(a *answer) string {
	if a.turn.Stop == StopLength || a.turn.Stop == StopRefuse && a.turn.Text == "" {
		return "incomplete"
	}
	return "completed"
}

func (r responses) put(s *stream, name string, data obj) {
	data["type"], data["sequence_number"] = name, s.seq
	s.seq++
	s.event(name, data)
}

func (r responses) render(a *answer) *stream {
	s := &stream{named: true, crlf: a.quirks.CRLF}
	r.put(s, "response.created", obj{"response": r.response(a, "in_progress", nil)})
	r.put(s, "response.in_progress", obj{"response": r.response(a, "in_progress", nil)})
	items := r.items(a)
	for i, it := range items {
		switch it["type"] {
		case "reasoning":
			r.reasoning(s, a, i, it)
		case "message":
			r.text(s, a, i, it)
		default:
			r.call(s, a, i, it)
		}
	}
	r.put(s, "response."+r.ending(a), obj{"response": r.response(a, r.ending(a), items)})
	return s
}

// with is a copy of an item with some fields changed.
func with(item, changes obj) obj {
	out := obj{}
	for k, v := range item {
		out[k] = v
	}
	for k, v := range changes {
		out[k] = v
	}
	return out
}

func (r responses) reasoning(s *stream, a *answer, i int, it obj) {
	r.put(s, "response.output_item.added", obj{"output_index": i, "item": with(it, obj{"summary": []any{}})})
	if a.ask.thinking {
		at := func(more obj) obj { return with(obj{"item_id": it["id"], "output_index": i, "summary_index": 0}, more) }
		r.put(s, "response.reasoning_summary_part.added", at(obj{"part": obj{"type": "summary_text", "text": ""}}))
		for _, p := range pieces(a.turn.Thinking, a.chunk) {
			r.put(s, "response.reasoning_summary_text.delta", at(obj{"delta": p, "obfuscation": identity(p, a.exchange, i, 8)}))
		}
		r.put(s, "response.reasoning_summary_text.done", at(obj{"text": a.turn.Thinking}))
		r.put(s, "response.reasoning_summary_part.done", at(obj{"part": obj{"type": "summary_text", "text": a.turn.Thinking}}))
	}
	r.put(s, "response.output_item.done", obj{"output_index": i, "item": it})
}

func (r responses) text(s *stream, a *answer, i int, it obj) {
	at := func(more obj) obj { return with(obj{"item_id": it["id"], "output_index": i, "content_index": 0}, more) }
	kind, key := "output_text", "text"
	empty := obj{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": ""}
	if a.turn.Stop == StopRefuse {
		kind, key, empty = "refusal", "refusal", obj{"type": "refusal", "refusal": ""}
	}
	r.put(s, "response.output_item.added", obj{"output_index": i, "item": with(it, obj{"status": "in_progress", "content": []any{}})})
	r.put(s, "response.content_part.added", at(obj{"part": empty}))
	for _, p := range pieces(a.turn.Text, a.chunk) {
		r.put(s, "response."+kind+".delta", at(obj{"delta": p, "logprobs": []any{}, "obfuscation": identity(p, a.exchange, i, 8)}))
		s.noteText(i)
	}
	r.put(s, "response."+kind+".done", at(obj{key: a.turn.Text, "logprobs": []any{}}))
	r.put(s, "response.content_part.done", at(obj{"part": with(empty, obj{key: a.turn.Text})}))
	r.put(s, "response.output_item.done", obj{"output_index": i, "item": it})
}

func (r responses) call(s *stream, a *answer, i int, it obj) {
	at := func(more obj) obj { return with(obj{"item_id": it["id"], "output_index": i}, more) }
	r.put(s, "response.output_item.added", obj{"output_index": i, "item": with(it, obj{"status": "in_progress", "arguments": ""})})
	text, _ := it["arguments"].(string)
	parts := pieces(text, a.chunk)
	if a.quirks.Whole {
		parts = []string{text}
	}
	for _, p := range parts {
		r.put(s, "response.function_call_arguments.delta", at(obj{"delta": p, "obfuscation": identity(p, a.exchange, i, 8)}))
	}
	if it["status"] == "completed" {
		r.put(s, "response.function_call_arguments.done", at(obj{"arguments": text, "name": it["name"]}))
	}
	r.put(s, "response.output_item.done", obj{"output_index": i, "item": it})
}

func (r responses) whole(a *answer) any { return r.response(a, r.ending(a), r.items(a)) }

func (responses) refuse(r *refusal, id string) (any, http.Header) { return openAIRefusal(r, id) }

func (responses) trouble(k Kind, a *answer) *refusal { return openAITrouble(k, a) }

func (r responses) errorEvent(s *stream) {
	r.put(s, "error", obj{"code": "server_error", "message": "The server had an error while processing your request. Sorry about that!", "param": nil})
}

// ping is a comment: the provider has no event for it.
func (responses) ping(s *stream) { comment(s) }

func comment(s *stream) {
	s.body.WriteString(": ping\n\n")
	s.ends = append(s.ends, s.body.Len())
}

func (r responses) more(s *stream, a *answer, text string) {
	r.put(s, "response.output_text.delta", obj{
		"item_id": itemID("msg", a, 1), "output_index": s.textIndex, "content_index": 0, "delta": text, "logprobs": []any{},
	})
}
