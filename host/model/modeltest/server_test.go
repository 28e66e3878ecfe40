package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent/host/model/modeltest"
)

func start(t *testing.T, script modeltest.Script) *modeltest.Server {
	t.Helper()
	s, err := modeltest.Start(modeltest.Options{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// post sends a request as a client would and returns the response, its body unread.
func post(t *testing.T, s *modeltest.Server, p modeltest.Protocol, body string) (*http.Response, error) {
	t.Helper()
	path := map[modeltest.Protocol]string{
		modeltest.Anthropic: "/v1/messages", modeltest.Responses: "/v1/responses", modeltest.Chat: "/v1/chat/completions",
	}[p]
	r, err := http.NewRequestWithContext(within(t), "POST", s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+modeltest.DefaultKey)
	if p == modeltest.Anthropic {
		r.Header.Set("anthropic-version", "2023-06-01")
	}
	return http.DefaultClient.Do(r)
}

func read(t *testing.T, res *http.Response, err error) (int, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// plain is a request for a stream with one prompt.
func plain(p modeltest.Protocol) string {
	switch p {
	case modeltest.Anthropic:
		return `{"model":"m","max_tokens":100,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"go"}]}`
	case modeltest.Responses:
		return `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"input":[{"role":"user","content":"go"}]}`
	}
	return `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]}`
}

func rich() modeltest.Script {
	return modeltest.Script{
		Chunk: 6,
		Turns: []modeltest.Turn{{Thinking: "hmm hmm", Text: "I look.", Calls: []modeltest.Call{
			{Tool: "read_file", Args: json.RawMessage(`{"path":"a"}`)}, {Tool: "shell", Args: json.RawMessage(`{"command":"ls"}`)},
		}}},
		Quirks: modeltest.Quirks{Reasoning: "reasoning_content"},
	}
}

// The order of events is the one that the providers document.
func TestEventsComeInTheProvidersOrder(t *testing.T) {
	want := map[modeltest.Protocol]string{
		modeltest.Anthropic: `message_start content_block_start content_block_delta content_block_delta content_block_delta content_block_stop ping ` +
			`content_block_start content_block_delta content_block_delta content_block_stop ` +
			`content_block_start content_block_delta content_block_delta content_block_delta content_block_stop ` +
			`content_block_start content_block_delta content_block_delta content_block_delta content_block_delta content_block_stop ` +
			`message_delta message_stop`,
		modeltest.Responses: `response.created response.in_progress response.output_item.added response.reasoning_summary_part.added ` +
			`response.reasoning_summary_text.delta response.reasoning_summary_text.delta response.reasoning_summary_text.done ` +
			`response.reasoning_summary_part.done response.output_item.done ` +
			`response.output_item.added response.content_part.added response.output_text.delta response.output_text.delta response.output_text.done ` +
			`response.content_part.done response.output_item.done ` +
			`response.output_item.added response.function_call_arguments.delta response.function_call_arguments.delta ` +
			`response.function_call_arguments.done response.output_item.done ` +
			`response.output_item.added response.function_call_arguments.delta response.function_call_arguments.delta response.function_call_arguments.delta ` +
			`response.function_call_arguments.done response.output_item.done response.completed`,
	}
	for _, p := range modeltest.Protocols() {
		s := start(t, rich())
		res, err := post(t, s, p, plain(p))
		code, body := read(t, res, err)
		if code != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%s: HTTP %d, %s", p, code, res.Header.Get("Content-Type"))
		}
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^event: (.*)$`).FindAllStringSubmatch(body, -1) {
			names = append(names, m[1])
		}
		if got := strings.Join(names, " "); got != want[p] {
			t.Errorf("%s: events\n%s\nwant\n%s", p, got, want[p])
		}
		for _, line := range strings.Split(body, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("%s: data is no JSON: %s", p, data)
			}
		}
		if p == modeltest.Chat && !strings.HasSuffix(body, "data: [DONE]\n\n") {
			t.Errorf("%s: the end is %q", p, body[max(0, len(body)-40):])
		}
		e := s.Exchanges()[0]
		if e.Sent != int64(len(body)) || e.Ends[len(e.Ends)-1] != len(body) || e.Turn != 1 || e.Body != plain(p) {
			t.Errorf("%s: recorded as %+v", p, e)
		}
	}
}

func TestWhatTheProviderWouldRefuseIsRefused(t *testing.T) {
	tools := `"tools":[{"name":"t","input_schema":{"type":"object"}}]`
	use := `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"t","input":{}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}`
	user := `{"role":"user","content":"go"}`
	anthropic := func(messages, more string) string {
		return `{"model":"m","max_tokens":9,` + more + `"messages":[` + messages + `]}`
	}
	call := `{"type":"function_call","call_id":"call_1","name":"t","arguments":"{}"}`
	out := `{"type":"function_call_output","call_id":"call_1","output":"x"}`
	responses := func(input string) string {
		return `{"model":"m","input":[{"role":"user","content":"go"}` + input + `]}`
	}
	uses := `{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"t","arguments":"{}"}}]}`
	answer := `{"role":"tool","tool_call_id":"call_1","content":"x"}`
	chat := func(messages string) string {
		return `{"model":"m","messages":[` + user + messages + `]}`
	}
	tests := []struct {
		protocol modeltest.Protocol
		name     string
		body     string
		want     string // "" is accepted
	}{
		{modeltest.Anthropic, "accepted", anthropic(user+","+use+","+result, tools+","), ""},
		{modeltest.Anthropic, "no max_tokens", `{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		{modeltest.Anthropic, "unknown field", anthropic(user, `"foo":1,`), "foo: Extra inputs are not permitted"},
		{modeltest.Anthropic, "two users", anthropic(user+","+user, ""), "roles must alternate"},
		{modeltest.Anthropic, "no result", anthropic(user+","+use+","+user, ""), "without `tool_result` blocks immediately after: toolu_1"},
		{modeltest.Anthropic, "result missing at the end", anthropic(user+","+use, ""), "without `tool_result` blocks"},
		{modeltest.Anthropic, "result of nothing", anthropic(result, ""), "unexpected `tool_use_id`"},
		{modeltest.Anthropic, "result twice", anthropic(user+","+use+","+strings.Replace(result, `"}]`, `"},{"type":"tool_result","tool_use_id":"toolu_1"}]`, 1), ""), "unexpected `tool_use_id`"},
		{modeltest.Anthropic, "id used again", anthropic(user+","+use+","+result+","+use+","+result, ""), "ids must be unique"},
		{modeltest.Anthropic, "text before a result", anthropic(user+","+use+","+strings.Replace(result, `[{`, `[{"type":"text","text":"a"},{`, 1), ""), "without `tool_result` blocks"},
		{modeltest.Anthropic, "odd id", anthropic(user+","+strings.ReplaceAll(use, "toolu_1", "a b"), ""), "should match pattern"},
		{modeltest.Anthropic, "input no object", anthropic(user+","+strings.Replace(use, "{}", `"{}"`, 1), ""), "valid dictionary"},
		{modeltest.Anthropic, "schema", anthropic(user, `"tools":[{"name":"t","input_schema":{"type":"string"}}],`), "input_schema"},
		{modeltest.Anthropic, "tool name", anthropic(user, `"tools":[{"name":"a.b","input_schema":{"type":"object"}}],`), "should match pattern"},
		{modeltest.Anthropic, "tools twice", anthropic(user, strings.Replace(tools, "]", `,{"name":"t","input_schema":{"type":"object"}}]`, 1)+","), "must be unique"},
		{modeltest.Anthropic, "empty text", anthropic(`{"role":"user","content":[{"type":"text","text":""}]}`, ""), "must be non-empty"},
		{modeltest.Anthropic, "signature", anthropic(user+`,{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"YQ=="},{"type":"text","text":"x"}]},`+user, ""), "Invalid `signature`"},
		{modeltest.Anthropic, "thinking left out", anthropic(user+","+use+","+result, `"thinking":{"type":"enabled","budget_tokens":1024},`), "greater than `thinking.budget_tokens`"},
		{modeltest.Anthropic, "no thinking before a call", strings.Replace(anthropic(user+","+use+","+result, `"thinking":{"type":"enabled","budget_tokens":1024},`), ":9,", ":9999,", 1), "Expected `thinking`"},
		{modeltest.Anthropic, "five marks", anthropic(user, `"system":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5), ",")+`],`), "maximum of 4"},
		{modeltest.Responses, "accepted", responses("," + call + "," + out), ""},
		{modeltest.Responses, "no output", responses("," + call), "No tool output found for function call call_1"},
		{modeltest.Responses, "no call", responses("," + out), "No tool call found"},
		{modeltest.Responses, "call twice", responses("," + call + "," + out + "," + call + "," + out), "Duplicate"},
		{modeltest.Responses, "unknown", `{"model":"m","input":"a","foo":1}`, "Unknown parameter: 'foo'"},
		{modeltest.Responses, "stored reasoning", responses(`,{"type":"reasoning","id":"rs_1","summary":[]},` + call + "," + out), "not persisted"},
		{modeltest.Responses, "changed reasoning", responses(`,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` + call + "," + out), "could not be verified"},
		{modeltest.Responses, "strict by default", `{"model":"m","input":"a","tools":[{"type":"function","name":"t","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}]}`, "additionalProperties"},
		{modeltest.Chat, "accepted", chat("," + uses + "," + answer), ""},
		{modeltest.Chat, "no answer", chat("," + uses), "did not have response messages: call_1"},
		{modeltest.Chat, "a user between", chat("," + uses + "," + user), "did not have response messages"},
		{modeltest.Chat, "no call", chat("," + answer), "must be a response to a preceeding message"},
		{modeltest.Chat, "other id", chat("," + uses + "," + strings.Replace(answer, "call_1", "call_2", 1)), "not found in 'tool_calls'"},
		{modeltest.Chat, "id twice", chat("," + uses + "," + answer + "," + uses + "," + answer), "Duplicate"},
		{modeltest.Chat, "no id", chat("," + strings.Replace(uses, "call_1", "", 1) + "," + answer), "empty string"},
		{modeltest.Chat, "arguments no text", chat("," + strings.Replace(uses, `"{}"`, "{}", 1) + "," + answer), "Invalid type"},
		{modeltest.Chat, "unknown", `{"model":"m","messages":[` + user + `],"foo":1}`, "Unrecognized request argument"},
	}
	s := start(t, modeltest.Script{})
	for _, tt := range tests {
		res, err := post(t, s, tt.protocol, tt.body)
		code, body := read(t, res, err)
		if tt.want == "" && code != 200 || tt.want != "" && (code != 400 || !strings.Contains(body, tt.want)) {
			t.Errorf("%s, %s: HTTP %d %s, want %q", tt.protocol, tt.name, code, body, tt.want)
		}
	}
	for _, p := range modeltest.Protocols() {
		r, err := http.NewRequestWithContext(within(t), "POST", s.URL()+map[modeltest.Protocol]string{
			modeltest.Anthropic: "/v1/messages", modeltest.Responses: "/v1/responses", modeltest.Chat: "/v1/chat/completions",
		}[p], bytes.NewReader([]byte(plain(p))))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if code, body := read(t, res, err); code != 401 {
			t.Errorf("%s without a key: HTTP %d %s", p, code, body)
		}
	}
}

func TestFaultsStrikeWhereTheyAreSaidTo(t *testing.T) {
	tests := []struct {
		fault modeltest.Fault
		code  int    // 0: no response at all
		holds string // of the body
		err   error  // that ends the body; nil for an end in order
	}{
		{modeltest.Fault{Kind: modeltest.RateLimit, After: 2.5}, 429, "ate limit", nil},
		{modeltest.Fault{Kind: modeltest.Failing}, 500, "", nil},
		{modeltest.Fault{Kind: modeltest.BadKey}, 401, modeltest.DefaultKey, nil},
		{modeltest.Fault{Kind: modeltest.Payment}, 402, "credits", nil},
		{modeltest.Fault{Kind: modeltest.NoModel}, 404, "m", nil},
		{modeltest.Fault{Kind: modeltest.TooLong}, 400, "", nil},
		{modeltest.Fault{Kind: modeltest.Filtered}, 400, "", nil},
		{modeltest.Fault{Kind: modeltest.Page}, 502, "<html>", nil},
		{modeltest.Fault{Kind: modeltest.Drop}, 0, "", nil},
		{modeltest.Fault{Kind: modeltest.Cut, At: 100}, 200, "", io.ErrUnexpectedEOF},
		{modeltest.Fault{Kind: modeltest.Truncate, At: 100}, 200, "", nil},
		{modeltest.Fault{Kind: modeltest.Garbage, At: 50, Size: 4000}, 200, "<garbage>", nil},
		{modeltest.Fault{Kind: modeltest.Line, At: 50, Size: 4000}, 200, "data: xxx", nil},
		{modeltest.Fault{Kind: modeltest.Flood, Size: 40000}, 200, "word word", nil},
		{modeltest.Fault{Kind: modeltest.BadEvent}, 200, "\"index\":0,\n", nil},
		{modeltest.Fault{Kind: modeltest.ErrorEvent, At: 200}, 200, "rror", nil},
	}
	for _, p := range modeltest.Protocols() {
		for _, tt := range tests {
			tt.fault.Attempt = 1
			script := rich()
			script.Turns[0].Faults = []modeltest.Fault{tt.fault}
			s := start(t, script)
			res, err := post(t, s, p, plain(p))
			if tt.code == 0 {
				if err == nil {
					t.Errorf("%s, %s: HTTP %d", p, tt.fault.Kind, res.StatusCode)
				}
			} else if err != nil {
				t.Errorf("%s, %s: %v", p, tt.fault.Kind, err)
			} else {
				b, err := io.ReadAll(res.Body)
				_ = res.Body.Close() // read to its end
				if res.StatusCode != tt.code || !strings.Contains(string(b), tt.holds) || !errors.Is(err, tt.err) {
					t.Errorf("%s, %s: HTTP %d, %v: %s", p, tt.fault.Kind, res.StatusCode, err, b)
				}
				if tt.fault.Kind == modeltest.Cut && len(b) != tt.fault.At {
					t.Errorf("%s: %d bytes came before the cut", p, len(b))
				}
				if tt.fault.After > 0 && res.Header.Get("Retry-After") != "2.5" {
					t.Errorf("%s: Retry-After %q", p, res.Header.Get("Retry-After"))
				}
			}
			res, err = post(t, s, p, plain(p))
			if code, _ := read(t, res, err); code != 200 {
				t.Errorf("%s, %s: the second attempt got HTTP %d", p, tt.fault.Kind, code)
			}
		}
	}
}

func TestAStreamIsHeldAtAByteUntilItIsReleased(t *testing.T) {
	script := rich()
	script.Turns[0].Faults = []modeltest.Fault{{Kind: modeltest.Hold, At: 333}}
	s := start(t, script)
	res, err := post(t, s, modeltest.Anthropic, plain(modeltest.Anthropic))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if e, err := s.Held(within(t), 0); err != nil || e.Sent != 333 {
		t.Fatalf("held at %d: %v", e.Sent, err)
	}
	first := make([]byte, 333)
	if _, err := io.ReadFull(res.Body, first); err != nil {
		t.Fatal(err)
	}
	if n := s.Release(); n != 1 {
		t.Errorf("released %d", n)
	}
	rest, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(first)+string(rest), "message_stop") {
		t.Errorf("the rest: %v", err)
	}
}

// A client that goes away ends what has no end.
func TestEndlessStreamsEndWithTheirClient(t *testing.T) {
	for _, k := range []modeltest.Kind{modeltest.Stall, modeltest.Pings, modeltest.Garbage, modeltest.Flood, modeltest.Line} {
		script := rich()
		script.Turns[0].Faults = []modeltest.Fault{{Kind: k, At: 10}}
		s := start(t, script)
		res, err := post(t, s, modeltest.Chat, plain(modeltest.Chat))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(res.Body, make([]byte, 10)); err != nil {
			t.Error(err)
		}
		_ = res.Body.Close() // that is the client's going away
		if _, err := s.Wait(within(t), 0, func(e modeltest.Exchange) bool { return e.Done }); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
}

// A client that ends in the middle of its request asked for nothing; only what is too long is
// refused for its length.
func TestHalfARequestIsNone(t *testing.T) {
	s := start(t, rich())
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	head := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil { // the rest never comes
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if all := s.Exchanges(); len(all) != 0 {
		t.Errorf("half a request counts: %+v", all)
	}
	res, err := post(t, s, modeltest.Chat, strings.Repeat(" ", 33<<20)+"{}")
	if code, text := read(t, res, err); code != 413 && code != 400 || !strings.Contains(text, "exceeds the maximum") {
		t.Errorf("one that is too long: %d %s", code, text)
	}
}
