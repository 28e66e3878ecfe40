package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/model/openai"
	"agent/recovery/journal"
)

func TestChatAnswer(t *testing.T) {
	h := must(t, openai.Chat, talk())
	if h.text != "I read both." || h.reasoning != "Let me look." {
		t.Errorf("shown: text %q, reasoning %q", h.text, h.reasoning)
	}
	a := h.answer
	if a.Stop != journal.AnswerCalls || a.Served != "test-model-2026" || a.Origin != "req_test" {
		t.Errorf("stop %s, served %s, origin %s", a.Stop, a.Served, a.Origin)
	}
	if d := cmp.Diff(&journal.Usage{Input: 120, Cached: 100, Output: 60, Reasoning: 40}, a.Usage); d != "" {
		t.Errorf("usage: %s", d)
	}
	want := []journal.Block{
		{Kind: journal.BlockReasoning, Text: "Let me look."}, text("I read both."),
		{Kind: journal.BlockCall, Call: &journal.CallBlock{Provider: "call_A", Tool: "read_file", Args: []byte(`{"path":"a.txt"}`)}},
		{Kind: journal.BlockCall, Call: &journal.CallBlock{Provider: "call_B", Tool: "read_file", Args: []byte(`{"path":"b.txt"}`)}},
	}
	if d := cmp.Diff(want, a.Blocks); d != "" {
		t.Errorf("blocks: %s", d)
	}
}

func tool(fields string) string { return delta(`"tool_calls":[` + fields + `]`) }

// Issue 3: servers that give no call ids, repeat them, send arguments in one piece, or omit usage
// all work.
func TestChatCompatibleServers(t *testing.T) {
	a, b := `read_file {"path":"a"}`, `read_file {"path":"b"}`
	whole := func(head, args string) string {
		return tool(`{` + head + `"function":{"name":"read_file","arguments":` + args + `}}`)
	}
	const sa, sb = `"{\"path\":\"a\"}"`, `"{\"path\":\"b\"}"`
	for _, c := range []struct {
		name   string
		stream string
		calls  []string
	}{
		{"whole calls that all have number 0", chunks(whole(`"index":0,"id":"x",`, sa), whole(`"index":0,"id":"y",`, sb), finish("stop")), []string{a, b}},
		{"whole calls with number 0 and the same id", chunks(whole(`"index":0,"id":"x",`, sa), whole(`"index":0,"id":"x",`, sb), finish("stop")), []string{a, b}},
		{"the same call twice", chunks(whole(`"index":0,"id":"x",`, sa), whole(`"index":0,"id":"x",`, sa), finish("stop")), []string{a, a}},
		{"whole calls with number 0 and no id", chunks(whole(`"index":0,"id":"",`, sa), whole(`"index":0,`, sb), finish("tool_calls")), []string{a, b}},
		{"whole calls with neither number nor id", chunks(whole(``, sa), whole(``, sb), finish("tool_calls")), []string{a, b}},
		{"whole calls in one piece of the stream", chunks(tool(`{"function":{"name":"read_file","arguments":`+sa+`}},{"function":{"name":"read_file","arguments":`+sb+`}}`), finish("stop")), []string{a, b}},
		{"everything with the end", chunks(`{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":` + sa + `}}]},"finish_reason":"tool_calls"}`), []string{a}},
		{"arguments as an object", chunks(whole(`"index":0,`, `{"path":"a"}`), whole(`"index":0,`, `{"path":"b"}`), finish("stop")), []string{a, b}},
		{"no number, arguments in pieces", chunks(
			tool(`{"id":"x","function":{"name":"read_file","arguments":""}}`), tool(`{"function":{"arguments":"{\"path\":"}}`), tool(`{"function":{"arguments":"\"a\"}"}}`),
			tool(`{"id":"y","function":{"name":"read_file","arguments":"{\"path\""}}`), tool(`{"function":{"arguments":":\"b\"}"}}`), finish("tool_calls")), []string{a, b}},
		{"number 0 for all, arguments in pieces", chunks(
			tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":""}}`), tool(`{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}`),
			tool(`{"index":0,"id":"y","function":{"name":"read_file"}}`), tool(`{"index":0,"function":{"arguments":"{\"path\":\"b\"}"}}`), finish("tool_calls")), []string{a, b}},
		{"id and name with every piece", chunks(
			tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"pa"}}`), tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":"th\":\"a\"}"}}`),
			tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":""}}`), finish("tool_calls")), []string{a}},
		{"calls that are written side by side", chunks(
			tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":"}},{"index":1,"id":"x","function":{"name":"read_file","arguments":"{\"path\":"}}`),
			tool(`{"index":1,"function":{"arguments":"\"b\"}"}},{"index":0,"function":{"arguments":"\"a\"}"}}`), finish("tool_calls")), []string{a, b}},
		{"the id after the name", chunks(tool(`{"index":0,"function":{"name":"read_file"}}`), tool(`{"index":0,"id":"x","function":{"arguments":`+sa+`}}`), finish("tool_calls")), []string{a}},
		{"no arguments", chunks(tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":""}}`), finish("tool_calls")), []string{"read_file {}"}},
		{"arguments null", chunks(tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":null}}`), finish("tool_calls")), []string{"read_file {}"}},
		{"malformed arguments", chunks(whole(`"index":0,`, `"{path: <a>"`), finish("tool_calls")), []string{"read_file {path: <a>"}},
		{"a number that is a text, an id that is a number", chunks(tool(`{"index":"0","id":7,"function":{"name":"read_file","arguments":`+sa+`}}`), finish("tool_calls")), []string{a}},
		{"null everywhere", chunks(`{"index":0,"delta":{"role":"assistant","content":null,"refusal":null,"tool_calls":null,"reasoning":null,"reasoning_details":null},"finish_reason":null}`, whole(`"index":0,`, sa), `{"index":0,"delta":null,"finish_reason":"tool_calls"}`), []string{a}},
		{"an error that is null", strings.ReplaceAll(chunks(whole(`"index":0,`, sa), finish("stop")), `"usage":null`, `"error":null`), []string{a}},
		{"comments, other fields and CRLF", strings.ReplaceAll(": OPENROUTER PROCESSING\n\nretry: 10\nid: 1\n"+chunks(whole(`"index":0,`, sa))+": ping\n\n"+chunks(finish("stop"))+chatDone, "\n", "\r\n"), []string{a}},
		{"other answers beside the first", chunks(whole(`"index":0,`, sa), `{"index":1,"delta":{"content":"other","tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}"}}]},"finish_reason":"stop"}`, finish("stop")), []string{a}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must(t, openai.Chat, c.stream).answer
			if d := cmp.Diff(c.calls, calls(got)); d != "" {
				t.Error(d)
			}
			if got.Stop != journal.AnswerCalls {
				t.Errorf("stop %s", got.Stop)
			}
			if got.Usage != nil {
				t.Errorf("usage that nobody told: %+v", got.Usage)
			}
		})
	}
}

func TestChatEnds(t *testing.T) {
	whole := tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`)
	second := tool(`{"index":1,"id":"y","function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}`)
	for _, c := range []struct {
		name, stream, text string
		stop               journal.AnswerStop
		calls              []string
	}{
		{"stop", chunks(delta(`"content":"Hi"`), finish("stop")) + chatDone, "Hi", journal.AnswerEnd, nil},
		{"stop without [DONE]", chunks(delta(`"content":"Hi"`), finish("stop")), "Hi", journal.AnswerEnd, nil},
		{"a word of the server's own", chunks(delta(`"content":"Hi"`), finish("eos_token")), "Hi", journal.AnswerEnd, nil},
		{"calls announced and none there", chunks(delta(`"content":"Hi"`), finish("tool_calls")), "Hi", journal.AnswerEnd, nil},
		{"length", chunks(delta(`"content":"Hi"`), finish("length")), "Hi", journal.AnswerLength, nil},
		{"length within a call", chunks(tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"pa"}}`), finish("length")), "", journal.AnswerLength, []string{`read_file {"pa`}},
		{"length within a call that reads as whole", chunks(whole, second, finish("length")), "", journal.AnswerLength, []string{`read_file {"path":"a"}`, `read_file {"path":"b"}…`}},
		{"length before any argument", chunks(tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":""}}`), finish("length")), "", journal.AnswerLength, []string{`read_file …`}},
		{"content filter", chunks(delta(`"content":"Hi"`), whole, finish("content_filter")), "Hi", journal.AnswerRefuse, nil},
		{"refusal", chunks(delta(`"refusal":"I will"`), delta(`"refusal":" not."`), finish("stop")), "I will not.", journal.AnswerRefuse, nil},
		{"content in parts", chunks(delta(`"content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]`), finish("stop")), "Hi", journal.AnswerEnd, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := must(t, openai.Chat, c.stream)
			a := h.answer
			if a.Stop != c.stop || h.text != c.text || len(c.text) > 0 && a.Blocks[0].Text != c.text {
				t.Errorf("stop %s, text %q, blocks %+v; want %s, %q", a.Stop, h.text, a.Blocks, c.stop, c.text)
			}
			if d := cmp.Diff(c.calls, calls(a)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestChatReasoning(t *testing.T) {
	t.Run("under both names", func(t *testing.T) {
		h := must(t, openai.Chat, chunks(delta(`"reasoning":"a","reasoning_content":"a"`), delta(`"reasoning":"b"`), delta(`"content":"Hi"`), finish("stop")))
		if h.reasoning != "ab" || h.answer.Blocks[0].Text != "ab" {
			t.Errorf("reasoning %q, blocks %+v", h.reasoning, h.answer.Blocks)
		}
	})
	t.Run("is not sent back", func(t *testing.T) {
		s := serve(t, events(talk()))
		m := s.model(openai.Chat, "x")
		h, err := ask(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, m, follow(question(), h.answer, 1)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(s.bodies[1]), "Let me") {
			t.Errorf("the request returns reasoning: %s", s.bodies[1])
		}
	})
	// OpenRouter: reasoning_details must come back as they were, their pieces joined and in order.
	t.Run("details of a router", func(t *testing.T) {
		s := serve(t, events(chunks(
			delta(`"reasoning":"Let ","reasoning_details":[{"type":"reasoning.text","text":"Let ","format":"anthropic-claude-v1","index":0,"signature":null}]`),
			delta(`"reasoning":"me <see>","reasoning_details":[{"type":"reasoning.text","text":"me <see>","format":"anthropic-claude-v1","index":0}]`),
			delta(`"reasoning_details":[{"type":"reasoning.text","signature":"c2ln+/==","index":0}]`),
			delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"ZW5j","id":"rs_1","index":1}]`),
			delta(`"reasoning_details":[{"type":"reasoning.summary","summary":"Sum","index":2}]`),
			delta(`"reasoning_details":[{"type":"reasoning.summary","summary":"mary","index":3}]`),
			tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":"{}"}}`), finish("tool_calls"))+chatDone))
		m := s.model(openai.Chat, "x")
		h, err := ask(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if h.reasoning != "Let me <see>Summary" {
			t.Errorf("shown: %q", h.reasoning)
		}
		if _, err := ask(t, m, journaled(t, follow(question(), h.answer, 1))); err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Details json.RawMessage `json:"reasoning_details"`
		}
		if err := json.Unmarshal([]byte(list(t, s.bodies[1], "messages")[2]), &sent); err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(sent.Details, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(`[{"type":"reasoning.text","text":"Let me <see>","format":"anthropic-claude-v1","index":0,"signature":"c2ln+/=="},{"type":"reasoning.encrypted","data":"ZW5j","id":"rs_1","index":1},{"type":"reasoning.summary","summary":"Sum","index":2},{"type":"reasoning.summary","summary":"mary","index":3}]`), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestChatUsage(t *testing.T) {
	for _, c := range []struct {
		usage string
		want  *journal.Usage
	}{
		{`{"prompt_tokens":10,"completion_tokens":5}`, &journal.Usage{Input: 10, Output: 5}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"prompt_cache_hit_tokens":8}`, &journal.Usage{Input: 10, Output: 5, Cached: 8}},
		{`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}`, &journal.Usage{Input: 10, Output: 5, Cached: 4, Written: 3}},
		{`{"prompt_tokens":0,"completion_tokens":0}`, nil},
		{`{}`, nil},
		{`null`, nil},
	} {
		a := must(t, openai.Chat, chunks(delta(`"content":"Hi"`))+chunk(`"choices":[`+finish("stop")+`],"usage":`+c.usage)+chatDone).answer
		if d := cmp.Diff(c.want, a.Usage); d != "" {
			t.Errorf("%s: %s", c.usage, d)
		}
	}
}

func TestChatRequest(t *testing.T) {
	req := question()
	req.MaxOutput, req.Effort = 1000, journal.EffortLow
	req.Messages = append(req.Messages,
		said(journal.RoleAssistant, call("c-1", `{"path":"a\u003cb"}`), call("c-2", `"not { json"`)),
		said(journal.RoleTool, result("c-1", "one"), result("c-2", "")),
		said(journal.RoleAssistant, text("Look:"), text("done")),
		said(journal.RoleUser, text("And this?"), journal.Block{Kind: journal.BlockImage, Image: &journal.Image{Media: "image/png", Data: []byte("PNG")}}))
	s := serve(t, events(talk()))
	if _, err := ask(t, s.model(openai.Chat, "qwen3"), req); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"qwen3","stream":true,"stream_options":{"include_usage":true},"max_tokens":1000,"reasoning_effort":"low",` +
		`"tools":[{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"a":{"type":"integer"}},"required":["path"]}}}],"messages":[` +
		`{"role":"system","content":"Be brief."},{"role":"user","content":"What is in a.txt?"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c-1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a<b\"}"}},{"id":"c-2","type":"function","function":{"name":"read_file","arguments":"{\"malformed\":\"not { json\"}"}}]},` +
		`{"role":"tool","content":"one","tool_call_id":"c-1"},{"role":"tool","content":"","tool_call_id":"c-2"},` +
		`{"role":"assistant","content":"Look:\n\ndone"},` +
		`{"role":"user","content":[{"type":"text","text":"And this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]}]}`
	if d := cmp.Diff(want, string(s.bodies[0])); d != "" {
		t.Error(d)
	}
	if s.paths[0] != "/v1/chat/completions" {
		t.Errorf("path %s", s.paths[0])
	}
}

// What OpenAI's newer models want, compatible servers refuse, and the reverse; some servers have
// words of their own.
func TestChatRequestOfAProvider(t *testing.T) {
	req := question()
	req.MaxOutput, req.Effort = 1000, journal.EffortNone
	req.Messages = append(req.Messages,
		said(journal.RoleAssistant, journal.Block{Kind: journal.BlockReasoning, Text: "Hm."}, call("c-1", `{}`)), said(journal.RoleTool, result("c-1", "x")))
	for _, c := range []struct{ base, model, want, not string }{
		{"", "gpt-5.2", `"max_completion_tokens":1000,"prompt_cache_key":"t-12345678","reasoning_effort":"none"`, `"max_tokens"`},
		{"https://eu.api.openai.com/v1", "gpt-4o", `"max_completion_tokens":1000,"prompt_cache_key":"t-12345678","tools"`, "reasoning_effort"},
		{"https://openrouter.ai/api/v1", "x/y", `"reasoning":{"effort":"none"}`, "prompt_cache_key"},
		{"https://api.deepseek.com/v1", "deepseek-v4", `"reasoning_content":"Hm."`, "max_completion_tokens"},
		{"https://notopenai.com/v1", "x", `"max_tokens":1000`, "Hm."},
	} {
		t.Run(c.base+" "+c.model, func(t *testing.T) {
			s := serve(t, events(talk()))
			m := openai.New(openai.Options{Model: c.model, Protocol: openai.Chat, BaseURL: c.base, HTTP: redirected(t, s)})
			if _, err := ask(t, m, req); err != nil {
				t.Fatal(err)
			}
			body := string(s.bodies[0])
			if !strings.Contains(body, c.want) || strings.Contains(body, c.not) {
				t.Errorf("the request\n%s\nmust have %s and not %s", body, c.want, c.not)
			}
		})
	}
}

func TestThousandParallelCalls(t *testing.T) {
	const n = 1000
	var want []string
	var chat, items strings.Builder
	for i := range n {
		want = append(want, fmt.Sprintf(`read_file {"path":"%d"}`, i))
		chat.WriteString(chunks(tool(fmt.Sprintf(`{"index":%d,"id":"call_%d","function":{"name":"read_file","arguments":"{\"path\":"}}`, i, i))))
		items.WriteString(functionCall(i, fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":"completed","arguments":"{\"path\":\"%d\"}","call_id":"call_%d","name":"read_file"}`, i, i, i), `{}`))
	}
	for i := range n {
		chat.WriteString(chunks(tool(fmt.Sprintf(`{"index":%d,"function":{"arguments":"\"%d\"}"}}`, i, i))))
	}
	for p, stream := range map[openai.Protocol]string{
		openai.Chat:      chat.String() + chunks(finish("tool_calls")) + chatDone,
		openai.Responses: items.String() + completed("completed", ""),
	} {
		s := serve(t, events(stream))
		m := s.model(p, "x")
		h, err := ask(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, calls(h.answer)); d != "" {
			t.Errorf("%s: %s", p, d)
		}
		if _, err := ask(t, m, follow(question(), h.answer, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// oddText is text with what encoders like to escape.
const oddText = "<script>&amp;</script> \u2028\u2029 \\u003c \\\\u0026 \"q\" \t\r\n é 漢 🙂 \x7f"

// outputMessage is one of the Responses API with the text, which is JSON already.
func outputMessage(text string) string {
	return `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":` + text + `}]}`
}

// 5 MB of text come as they are.
func TestLargeText(t *testing.T) {
	large := strings.Repeat(oddText, 5<<20/len(oddText))
	m := js(large)
	for p, stream := range map[openai.Protocol]string{
		openai.Chat:      chunks(delta(`"content":`+m), finish("stop")),
		openai.Responses: ev("response.output_text.delta", `"delta":`+m) + ev("response.output_item.done", `"output_index":0,"item":`+outputMessage(m)) + completed("completed", ""),
	} {
		h := must(t, p, stream)
		if h.text != large || h.answer.Blocks[0].Text != large {
			t.Errorf("%s: the text is not as it came: %d bytes shown, %d in the answer, want %d", p, len(h.text), len(h.answer.Blocks[0].Text), len(large))
		}
	}
}

// Text and arguments with characters that encoders like to escape come as they are, and go back so.
func TestUnusualText(t *testing.T) {
	args, m := js(map[string]string{"path": oddText}), js(oddText)
	called := `{"id":"fc_1","type":"function_call","status":"completed","arguments":` + js(args) + `,"call_id":"c","name":"read_file"}`
	for p, stream := range map[openai.Protocol]string{
		openai.Chat: chunks(delta(`"content":`+m), tool(`{"index":0,"id":"x","function":{"name":"read_file","arguments":`+js(args)+`}}`), finish("tool_calls")),
		openai.Responses: ev("response.output_text.delta", `"delta":`+m) + ev("response.output_item.done", `"output_index":0,"item":`+outputMessage(m)) +
			ev("response.output_item.done", `"output_index":1,"item":`+called) + completed("completed", "", outputMessage(m), called),
	} {
		s := serve(t, events(stream))
		m := s.model(p, "x")
		h, err := ask(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if h.text != oddText || h.answer.Blocks[0].Text != oddText {
			t.Errorf("%s: shown %q, in the answer %q, want %q", p, h.text, h.answer.Blocks[0].Text, oddText)
		}
		if d := cmp.Diff([]string{"read_file " + args}, calls(h.answer)); d != "" {
			t.Errorf("%s: %s", p, d)
		}
		if _, err := ask(t, m, journaled(t, follow(question(), h.answer, 1))); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Path string `json:"path"`
		}
		if err := json.Unmarshal([]byte(sentArguments(t, p, s.bodies[1])), &got); err != nil || got.Path != oddText {
			t.Errorf("%s: returned %q (%v), want %q", p, got.Path, err, oddText)
		}
	}
}

// sentArguments are those of the only call in a request.
func sentArguments(t *testing.T, p openai.Protocol, body []byte) string {
	t.Helper()
	type function struct {
		Arguments string `json:"arguments"`
	}
	var all struct {
		Input    []function `json:"input"`
		Messages []struct {
			Calls []struct {
				Function function `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	for _, i := range all.Input {
		if i.Arguments != "" {
			return i.Arguments
		}
	}
	for _, m := range all.Messages {
		for _, c := range m.Calls {
			return c.Function.Arguments
		}
	}
	t.Fatalf("%s: no call in %.500s", p, body)
	return ""
}
