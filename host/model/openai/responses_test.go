package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/model"
	"agent/host/model/openai"
	"agent/recovery/journal"
)

func TestResponsesAnswer(t *testing.T) {
	h := must(t, openai.Responses, story())
	if h.text != "I read both." || h.reasoning != "**Looking**\n\nat a & b" {
		t.Errorf("shown: text %q, reasoning %q", h.text, h.reasoning)
	}
	a := h.answer
	if a.Stop != journal.AnswerCalls || a.Served != "test-model-2026" || a.Origin != "req_test" {
		t.Errorf("stop %s, served %s, origin %s", a.Stop, a.Served, a.Origin)
	}
	want := &journal.Usage{Input: 120, Cached: 100, Written: 7, Output: 60, Reasoning: 40}
	if d := cmp.Diff(want, a.Usage); d != "" {
		t.Errorf("usage: %s", d)
	}
	var kinds []string
	for _, b := range a.Blocks {
		kinds = append(kinds, string(b.Kind)+" "+b.Text)
	}
	if d := cmp.Diff([]string{"reasoning **Looking**\n\nat a & b", "text I read both.", "call ", "reasoning ", "call "}, kinds); d != "" {
		t.Errorf("blocks: %s", d)
	}
	if d := cmp.Diff([]string{`read_file {"path":"a.txt"}`, `read_file {"path":"b.txt"}`}, calls(a)); d != "" {
		t.Errorf("calls: %s", d)
	}
	if a.Blocks[2].Call.Provider != "call_A" || a.Blocks[2].Call.ID != "" {
		t.Errorf("the call's ids: %+v", a.Blocks[2].Call)
	}
}

// Issue 3: encrypted reasoning is kept and returned, byte for byte and in its place, though the
// host keeps an answer's calls apart from the rest of it and everything has been through the
// journal.
func TestResponsesReturnsAnAnswerAsItCame(t *testing.T) {
	s := serve(t, events(story()))
	m := s.model(openai.Responses, "gpt-test")
	h, err := ask(t, m, question())
	if err != nil {
		t.Fatal(err)
	}
	next := follow(question(), h.answer, 1)
	for _, req := range []model.Request{next, journaled(t, next)} {
		if _, err := ask(t, m, req); err != nil {
			t.Fatal(err)
		}
		body := s.bodies[len(s.bodies)-1]
		items := list(t, body, "input")
		want := []string{
			"message user", storyReasoning,
			`{"type":"message","role":"assistant","id":"msg_1","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"I read both.","annotations":[]}]}`,
			`{"type":"function_call","id":"fc_1","call_id":"c-1-0","name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`,
			storyReason2,
			`{"type":"function_call","id":"fc_2","call_id":"c-1-1","name":"read_file","arguments":"{\"path\":\"b.txt\"}"}`,
			`{"type":"function_call_output","call_id":"c-1-0","output":"result 1 <of> 1"}`,
			`{"type":"function_call_output","call_id":"c-1-1","output":"result 2 <of> 1"}`,
		}
		items[0] = "message user"
		if d := cmp.Diff(want, items); d != "" {
			t.Errorf("the request does not return what came: %s", d)
		}
		if !strings.Contains(string(body), storyReasoning) {
			t.Error("the reasoning is not there byte for byte")
		}
	}
}

// list gives the elements of a list of the body, as they are.
func list(t testing.TB, body []byte, name string) []string {
	t.Helper()
	var all map[string]json.RawMessage
	var elements []json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("the body is not JSON: %v\n%s", err, body)
	}
	if err := json.Unmarshal(all[name], &elements); err != nil {
		t.Fatalf("%s is no list: %v", name, err)
	}
	out := make([]string, len(elements))
	for i := range elements {
		out[i] = string(elements[i])
	}
	return out
}

// The provider refuses an item whose reasoning is missing, when it has an id that tells; and
// reasoning that nothing follows.
func TestResponsesLeavesOutReasoningThatCannotGoBack(t *testing.T) {
	t.Run("another model's", func(t *testing.T) {
		s := serve(t, events(story()))
		h, err := ask(t, s.model(openai.Responses, "gpt-test"), question())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, s.model(openai.Responses, "gpt-other"), follow(question(), h.answer, 1)); err != nil {
			t.Fatal(err)
		}
		if got := string(s.bodies[1]); strings.Contains(got, "rs_") || strings.Contains(got, "msg_") || strings.Contains(got, "fc_") {
			t.Errorf("ids are left of an answer whose reasoning is not there: %s", got)
		}
		if items := list(t, s.bodies[1], "input"); len(items) != 6 {
			t.Errorf("got %d items, want question, text, 2 calls, 2 results: %s", len(items), items)
		}
	})
	for _, summary := range []string{``, `{"type":"summary_text","text":"hm"}`} {
		bare := `{"id":"rs_1","type":"reasoning","summary":[` + summary + `]}`
		stream := ev("response.output_item.done", `"output_index":0,"item":`+bare) + ev("response.output_item.done", `"output_index":1,"item":`+storyMessage) +
			functionCall(2, storyCallA, `{}`) + completed("completed", "")
		s := serve(t, events(stream))
		m := s.model(openai.Responses, "gpt-test")
		h, err := ask(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, m, follow(question(), h.answer, 1)); err != nil {
			t.Fatal(err)
		}
		if got := string(s.bodies[1]); strings.Contains(got, "rs_1") || strings.Contains(got, "msg_1") || strings.Contains(got, "fc_1") {
			t.Errorf("an id that the provider does not know: %s", got)
		}
	}
	t.Run("cut off behind it", func(t *testing.T) {
		stream := ev("response.output_item.done", `"output_index":0,"item":`+storyReasoning) + completed("incomplete", `{"reason":"max_output_tokens"}`, storyReasoning)
		s := serve(t, events(stream))
		m := s.model(openai.Responses, "gpt-test")
		h, err := ask(t, m, question())
		if err != nil {
			t.Fatal(err)
		}
		if h.answer.Stop != journal.AnswerLength {
			t.Errorf("stop %s", h.answer.Stop)
		}
		req := follow(question(), h.answer, 1)
		req.Messages = append(req.Messages, said(journal.RoleUser, text("Go on.")))
		if _, err := ask(t, m, req); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(s.bodies[1]), "rs_1") {
			t.Errorf("reasoning without what follows it: %s", s.bodies[1])
		}
	})
}

func TestResponsesRequestHead(t *testing.T) {
	req := question()
	req.MaxOutput = 1000
	for _, c := range []struct {
		model  string
		effort journal.Effort
		want   string
	}{
		{"gpt-5.2", "", `"include":["reasoning.encrypted_content"],"prompt_cache_key"`},
		{"gpt-5.2", "high", `"reasoning":{"effort":"high","summary":"auto"}`},
		{"gpt-5.2", "none", `"reasoning":{"effort":"none"}`},
		{"gpt-5-mini", "none", `"reasoning":{"effort":"minimal"}`},
		{"gpt-5-mini-2025-08-07", "none", `"reasoning":{"effort":"minimal"}`},
		{"o4-mini", "none", `"reasoning":{"effort":"low"}`},
		{"gpt-4o", "high", `"store":false,"prompt_cache_key":"t-12345678","max_output_tokens":1000,"instructions"`},
		{"ft:gpt-4.1-mini:org::1", "low", `"store":false,"prompt_cache_key":"t-12345678","max_output_tokens":1000,"instructions"`},
		{"openai/gpt-4.1", "", `"store":false,"prompt_cache_key":"t-12345678","max_output_tokens":1000,"instructions"`},
	} {
		t.Run(c.model+" "+string(c.effort), func(t *testing.T) {
			s := serve(t, events(story()))
			req.Effort = c.effort
			if _, err := ask(t, s.model(openai.Responses, c.model), req); err != nil {
				t.Fatal(err)
			}
			body := string(s.bodies[0])
			for _, want := range []string{
				`{"model":"` + c.model + `","stream":true,"store":false,`, `"prompt_cache_key":"t-12345678","max_output_tokens":1000,`, c.want,
				`"instructions":"Be brief.","tools":[{"type":"function","name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"a":{"type":"integer"}},"required":["path"]},"strict":false}],"input":[`,
			} {
				if !strings.Contains(body, want) {
					t.Errorf("the request\n%s\nlacks\n%s", body, want)
				}
			}
			if strings.Contains(body, "previous_response_id") || c.effort == "" && strings.Contains(body, `"reasoning":`) {
				t.Errorf("the request says too much: %s", body)
			}
			if s.paths[0] != "/v1/responses" {
				t.Errorf("path %s", s.paths[0])
			}
		})
	}
}

func TestResponsesEnds(t *testing.T) {
	message := func(part string) string {
		return `{"id":"msg_1","type":"message","status":"incomplete","role":"assistant","content":[` + part + `]}`
	}
	textPart := message(`{"type":"output_text","annotations":[],"text":"Half"}`)
	done := func(items ...string) string {
		var s strings.Builder
		for i, item := range items {
			s.WriteString(ev("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item)))
		}
		return s.String()
	}
	half := `{"id":"fc_1","type":"function_call","status":"incomplete","arguments":"{\"path\":\"a.t","call_id":"call_A","name":"read_file"}`
	valid := `{"id":"fc_1","type":"function_call","status":"incomplete","arguments":"{\"path\":\"a\"}","call_id":"call_A","name":"read_file"}`
	length := `{"reason":"max_output_tokens"}`
	for _, c := range []struct {
		name, stream, text string
		stop               journal.AnswerStop
		calls              []string
	}{
		{"the end", done(storyMessage) + completed("completed", "", storyMessage), "I read both.", journal.AnswerEnd, nil},
		{"only in the last event", completed("completed", "", storyMessage, storyCallA), "I read both.", journal.AnswerCalls, []string{`read_file {"path":"a.txt"}`}},
		{"nothing in the last event", done(storyMessage, storyCallA) + completed("completed", ""), "I read both.", journal.AnswerCalls, []string{`read_file {"path":"a.txt"}`}},
		{"refusal", done(message(`{"type":"refusal","refusal":"I will not."}`)) + completed("completed", ""), "I will not.", journal.AnswerRefuse, nil},
		{"content filter", done(textPart, half) + completed("incomplete", `{"reason":"content_filter"}`), "Half", journal.AnswerRefuse, nil},
		{"cut text", done(textPart) + completed("incomplete", length), "Half", journal.AnswerLength, nil},
		{"cut text without its item", ev("response.output_text.delta", `"delta":"Half"`) + completed("incomplete", length), "Half", journal.AnswerLength, nil},
		{"cut call", done(textPart, half) + completed("incomplete", length), "Half", journal.AnswerLength, []string{`read_file {"path":"a.t`}},
		{"cut call that reads as whole", done(storyCallA, valid) + completed("incomplete", length), "", journal.AnswerLength, []string{`read_file {"path":"a.txt"}`, `read_file {"path":"a"}…`}},
		{"cut call before a message", done(valid, storyMessage) + completed("incomplete", length), "I read both.", journal.AnswerLength, []string{`read_file {"path":"a"}…`}},
		{"cut behind a call without status", done(strings.Replace(storyCallA, `"status":"completed",`, "", 1)) + completed("incomplete", length), "", journal.AnswerLength, []string{`read_file {"path":"a.txt"}…`}},
		{"no arguments", done(strings.Replace(storyCallA, `{\"path\":\"a.txt\"}`, "", 1)) + completed("completed", ""), "", journal.AnswerCalls, []string{`read_file {}`}},
		{"malformed arguments", done(strings.Replace(storyCallA, `{\"path\"`, `{path`, 1)) + completed("completed", ""), "", journal.AnswerCalls, []string{`read_file {path:"a.txt"}`}},
		{"arguments that are an object", done(strings.Replace(storyCallA, `"{\"path\":\"a.txt\"}"`, `{"path": "<a>"}`, 1)) + completed("completed", ""), "", journal.AnswerCalls, []string{`read_file {"path": "<a>"}`}},
		{"no names of events", strings.ReplaceAll(done(storyMessage)+completed("completed", ""), "event: ", "x: "), "I read both.", journal.AnswerEnd, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := must(t, openai.Responses, c.stream).answer
			var got strings.Builder
			for _, b := range a.Blocks {
				got.WriteString(b.Text)
			}
			if a.Stop != c.stop || got.String() != c.text {
				t.Errorf("stop %s, text %q; want %s, %q", a.Stop, got.String(), c.stop, c.text)
			}
			if d := cmp.Diff(c.calls, calls(a)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestResponsesTwoMessagesAreShownApart(t *testing.T) {
	added := ev("response.output_item.added", `"item":{"id":"m","type":"message"}`)
	h := must(t, openai.Responses, added+ev("response.output_text.delta", `"delta":"One."`)+added+ev("response.output_text.delta", `"delta":"Two."`)+completed("completed", "", storyMessage))
	if h.text != "One.\n\nTwo." {
		t.Errorf("shown: %q", h.text)
	}
}
