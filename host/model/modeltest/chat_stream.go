package modeltest

import "net/http"

func (c chat) finish(t Turn) string {
	switch {
	case t.Stop == StopLength:
		return "length"
	case t.Stop == StopRefuse && t.Text == "":
		return "content_filter"
	case len(t.Calls) > 0 && !c.quirks.NoFinish:
		return "tool_calls"
	}
	return "stop"
}

func (c chat) chunk(a *answer, choices []obj) obj {
	return obj{
		"id": "chatcmpl-" + identity("chat", a.exchange, 0, 29), "object": "chat.completion.chunk", "created": a.at, "model": a.model,
		"service_tier": "default", "system_fingerprint": "fp_" + identity("fp", 0, 0, 10), "choices": append([]obj{}, choices...),
	}
}

func (c chat) usage(a *answer) obj {
	all, reasoning := a.output()
	in := a.fresh + a.read + a.written
	return obj{
		"prompt_tokens": in, "completion_tokens": all, "total_tokens": in + all, "prompt_tokens_details": obj{"cached_tokens": a.read, "audio_tokens": 0},
		"completion_tokens_details": obj{"reasoning_tokens": reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
}

func (c chat) render(a *answer) *stream {
	s := &stream{crlf: a.quirks.CRLF}
	counted := a.ask.usage && !a.quirks.NoUsage
	put := func(delta obj, finish any) {
		chunk := c.chunk(a, []obj{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}})
		if counted {
			chunk["usage"] = nil
		}
		s.event("", chunk)
	}
	put(obj{"role": "assistant", "content": "", "refusal": nil}, nil)
	if a.ask.thinking {
		for _, p := range pieces(a.turn.Thinking, a.chunk) {
			put(obj{a.quirks.Reasoning: p}, nil)
		}
	}
	word := "content"
	if a.turn.Stop == StopRefuse {
		word = "refusal"
	}
	for _, p := range pieces(a.turn.Text, a.chunk) {
		put(obj{word: p}, nil)
		s.noteText(0)
	}
	for i := range a.turn.Calls {
		c.call(a, i, func(delta obj) { put(delta, nil) })
	}
	put(obj{}, c.finish(a.turn))
	if counted {
		chunk := c.chunk(a, nil)
		chunk["usage"] = c.usage(a)
		s.event("", chunk)
	}
	if !a.quirks.NoDone {
		s.event("", "[DONE]")
	}
	return s
}

func (c chat) call(a *answer, i int, put func(obj)) {
	index := i
	if a.quirks.Index0 {
		index = 0
	}
	head := obj{"index": index, "type": "function"}
	if id := a.callID("call_", i); id != "" {
		head["id"] = id
	}
	function := obj{"name": a.turn.Calls[i].Tool, "arguments": ""}
	parts := a.argumentPieces(i)
	if a.quirks.Whole {
		function["arguments"], parts = a.arguments(i), nil
	}
	head["function"] = function
	put(obj{"tool_calls": []obj{head}})
	for _, p := range parts {
		put(obj{"tool_calls": []obj{{"index": index, "function": obj{"arguments": p}}}})
	}
}

func (c chat) whole(a *answer) any {
	message := obj{"role": "assistant", "content": nil, "refusal": nil, "annotations": []any{}}
	switch {
	case a.turn.Stop == StopRefuse && a.turn.Text != "":
		message["refusal"] = a.turn.Text
	case a.turn.Text != "":
		message["content"] = a.turn.Text
	}
	if a.ask.thinking && a.turn.Thinking != "" {
		message[a.quirks.Reasoning] = a.turn.Thinking
	}
	var calls []obj
	for i, t := range a.turn.Calls {
		calls = append(calls, obj{"id": a.callID("call_", i), "type": "function", "function": obj{"name": t.Tool, "arguments": a.arguments(i)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := c.chunk(a, []obj{{"index": 0, "message": message, "logprobs": nil, "finish_reason": c.finish(a.turn)}})
	out["object"] = "chat.completion"
	if !a.quirks.NoUsage {
		out["usage"] = c.usage(a)
	}
	return out
}

func (chat) refuse(r *refusal, id string) (any, http.Header) { return openAIRefusal(r, id) }

func (chat) trouble(k Kind, a *answer) *refusal { return openAITrouble(k, a) }

func (chat) errorEvent(s *stream) {
	s.event("", obj{"error": obj{"message": "Our servers are currently overloaded. Please try again later.", "type": "server_error", "param": nil, "code": "server_is_overloaded"}})
}

func (chat) ping(s *stream) { comment(s) }

func (c chat) more(s *stream, a *answer, text string) {
	s.event("", c.chunk(a, []obj{{"index": 0, "delta": obj{"content": text}, "logprobs": nil, "finish_reason": nil}}))
}
