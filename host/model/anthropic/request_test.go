package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/host/model"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

func text(s string) journal.Block { return journal.Block{Kind: journal.BlockText, Text: s} }

func call(id, args string) journal.Block {
	return journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{ID: id, Provider: "toolu_1", Tool: "shell", Args: json.RawMessage(args)}}
}

func result(id string, o journal.Outcome, s string) journal.Block {
	return journal.Block{Kind: journal.BlockResult, Result: &journal.ResultBlock{ID: id, Tool: "shell", Outcome: o, Text: s}}
}

func thinking(s, signature, prefix string) journal.Block {
	o, err := opaque{Signature: signature, Prefix: prefix}.seal()
	if err != nil {
		panic(err)
	}
	return journal.Block{Kind: journal.BlockReasoning, Text: s, Opaque: o}
}

func said(blocks ...journal.Block) journal.Message {
	return journal.Message{Role: journal.RoleAssistant, Blocks: blocks}
}

func results(blocks ...journal.Block) journal.Message {
	return journal.Message{Role: journal.RoleTool, Blocks: blocks}
}

// The body of a request, whole: what is fixed for a run first, each of our ids, the schema as it
// was given.
func TestBody(t *testing.T) {
	req := model.Request{
		System: "Be <brief>.",
		Tools:  []model.ToolSpec{{Name: "shell", Description: "Runs.", Schema: json.RawMessage("{ \"z\": 1,\n \"a\": \"<&>\" }")}, {Name: "b"}},
		Messages: []journal.Message{
			{Role: journal.RoleUser, Blocks: []journal.Block{
				{Kind: journal.BlockImage, Image: &journal.Image{Media: "image/png", Data: []byte{1, 2, 255}}}, text("Look."),
			}},
			said(thinking("Hm.", "c2ln", ""), text("I look."), call("c-1", `{"command":"ls"}`), call("c-2", `{ "command" : "\u003cb>" }`)),
			results(result("c-1", journal.OutcomeOK, "a\nb"), result("c-2", journal.OutcomeError, "no")),
		},
		MaxOutput: 5000, Thread: "t-1", Turn: 2,
	}
	want := `{"model":"claude-haiku-4-5","max_tokens":5000,"stream":true,"cache_control":{"type":"ephemeral"},` +
		"\"tools\":[{\"name\":\"shell\",\"description\":\"Runs.\",\"input_schema\":{ \"z\": 1,\n \"a\": \"<&>\" }}," +
		`{"name":"b","description":"","input_schema":{"type":"object"}}],` +
		`"system":[{"type":"text","text":"Be <brief>.","cache_control":{"type":"ephemeral"}}],"messages":[` +
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQL/"}},{"type":"text","text":"Look."}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"I look."},` +
		`{"type":"tool_use","id":"c-1","name":"shell","input":{"command":"ls"}},{"type":"tool_use","id":"c-2","name":"shell","input":{"command":"<b>"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c-1","content":"a\nb"},` +
		`{"type":"tool_result","tool_use_id":"c-2","is_error":true,"content":"no"}]}]}`
	if got := string(mustEncode(t, "claude-haiku-4-5", req).body); got != want {
		t.Errorf("body\n%s\nwant\n%s", got, want)
	}
}

// Every conversation becomes one that the API takes.
func TestMessages(t *testing.T) {
	foreign := journal.Block{Kind: journal.BlockReasoning, Text: "Hm.", Opaque: json.RawMessage(`{"responses":{"id":"rs_1"}}`)}
	const asked = `{"role":"user","content":[{"type":"text","text":"Q"}]}`
	for name, c := range map[string]struct {
		messages []journal.Message
		want     string
	}{
		"nothing":                      {nil, `{"role":"user","content":[{"type":"text","text":"Go on."}]}`},
		"blank prompt":                 {[]journal.Message{user(" \n")}, `{"role":"user","content":[{"type":"text","text":"Go on."}]}`},
		"two users":                    {[]journal.Message{user("Q"), user("R")}, `{"role":"user","content":[{"type":"text","text":"Q"},{"type":"text","text":"R"}]}`},
		"assistant without blocks":     {[]journal.Message{user("Q"), said(), user("R")}, `{"role":"user","content":[{"type":"text","text":"Q"},{"type":"text","text":"R"}]}`},
		"assistant with blank text":    {[]journal.Message{user("Q"), said(text(""), text(" ")), user("R")}, `{"role":"user","content":[{"type":"text","text":"Q"},{"type":"text","text":"R"}]}`},
		"reasoning of another":         {[]journal.Message{user("Q"), said(foreign, journal.Block{Kind: journal.BlockReasoning, Text: "?"}, text("A")), user("R")}, asked + `,{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":[{"type":"text","text":"R"}]}`},
		"reasoning at the end":         {[]journal.Message{user("Q"), said(text("A"), thinking("Hm", "s", "")), user("R")}, asked + `,{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":[{"type":"text","text":"R"}]}`},
		"trailing assistant":           {[]journal.Message{user("Q"), said(text("A"))}, asked + `,{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":[{"type":"text","text":"Go on."}]}`},
		"two assistants":               {[]journal.Message{user("Q"), said(text("A")), said(text("B")), user("R")}, asked + `,{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":[{"type":"text","text":"Go on."}]},{"role":"assistant","content":[{"type":"text","text":"B"}]},{"role":"user","content":[{"type":"text","text":"R"}]}`},
		"leading assistant":            {[]journal.Message{said(text("A")), user("R")}, `{"role":"user","content":[{"type":"text","text":"Go on."}]},{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":[{"type":"text","text":"R"}]}`},
		"results, then the user":       {[]journal.Message{user("Q"), said(call("c-1", `{}`)), results(result("c-1", journal.OutcomeOK, "r")), user("R")}, asked + `,{"role":"assistant","content":[{"type":"tool_use","id":"c-1","name":"shell","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c-1","content":"r"},{"type":"text","text":"R"}]}`},
		"results in the calls' order":  {[]journal.Message{user("Q"), said(call("c-1", `{}`), call("c-2", `{}`)), results(result("c-2", journal.OutcomeSkipped, "s")), results(result("c-1", journal.OutcomeOK, "r"))}, asked + `,{"role":"assistant","content":[{"type":"tool_use","id":"c-1","name":"shell","input":{}},{"type":"tool_use","id":"c-2","name":"shell","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c-1","content":"r"},{"type":"tool_result","tool_use_id":"c-2","is_error":true,"content":"s"}]}`},
		"a call without a result":      {[]journal.Message{user("Q"), said(call("c-1", `{}`)), said(text("A")), user("R")}, asked + `,{"role":"assistant","content":[{"type":"tool_use","id":"c-1","name":"shell","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c-1","is_error":true,"content":"No result of this call is recorded."}]},{"role":"assistant","content":[{"type":"text","text":"A"}]},{"role":"user","content":[{"type":"text","text":"R"}]}`},
		"a result without a call":      {[]journal.Message{user("Q"), results(result("c-9", journal.OutcomeDenied, "no"))}, `{"role":"user","content":[{"type":"text","text":"Q"},{"type":"text","text":"Result of shell (denied): no"}]}`},
		"blank results":                {[]journal.Message{user("Q"), said(call("c-1", `{}`), call("c-2", `{}`)), results(result("c-1", journal.OutcomeOK, "\n"), result("c-2", journal.OutcomeUnknown, ""))}, asked + `,{"role":"assistant","content":[{"type":"tool_use","id":"c-1","name":"shell","input":{}},{"type":"tool_use","id":"c-2","name":"shell","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c-1"},{"type":"tool_result","tool_use_id":"c-2","is_error":true,"content":"unknown"}]}`},
		"arguments that are no object": {[]journal.Message{user("Q"), said(call("c-1", `"{\"a\": oops"`), call("c-2", `[1]`), call("c-3", `{"a`), call("c-4", ``)), results()}, asked + `,{"role":"assistant","content":[{"type":"tool_use","id":"c-1","name":"shell","input":{"arguments":"{\"a\": oops"}},{"type":"tool_use","id":"c-2","name":"shell","input":{"arguments":[1]}},{"type":"tool_use","id":"c-3","name":"shell","input":{"arguments":"{\"a"}},{"type":"tool_use","id":"c-4","name":"shell","input":{}}]},` + `{"role":"user","content":[` + missing("c-1") + `,` + missing("c-2") + `,` + missing("c-3") + `,` + missing("c-4") + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			body := string(mustEncode(t, "claude-opus-4-5", model.Request{Messages: c.messages}).body)
			_, got, _ := strings.Cut(body, `"messages":[`)
			if got = strings.TrimSuffix(got, "]}"); got != c.want {
				t.Errorf("messages\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func missing(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","is_error":true,"content":"No result of this call is recorded."}`
}

// A conversation that grows, as a host has it: the turns of one run and of the runs after it.
type story struct{ messages [][]journal.Message }

func drawStory(t *rapid.T, widest int) story {
	var s story
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "a", "<b>&\u2028", "\x00\xff", "ü\"\\"}))
	ids := 0
	for range rapid.IntRange(1, 5).Draw(t, "runs") {
		s.messages = append(s.messages, []journal.Message{user("Q" + words.Draw(t, "prompt"))})
		for range rapid.IntRange(0, 4).Draw(t, "turns") {
			var blocks, heard []journal.Block
			if rapid.Bool().Draw(t, "thinks") {
				blocks = append(blocks, thinking(words.Draw(t, "thought"), "sig+/=", ""))
			}
			if rapid.Bool().Draw(t, "talks") {
				blocks = append(blocks, text(words.Draw(t, "text")))
			}
			for range rapid.IntRange(0, widest).Draw(t, "calls") {
				ids++
				id := fmt.Sprintf("c-%d", ids)
				args, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "args"))
				if err != nil {
					t.Fatal(err)
				}
				if rapid.Bool().Draw(t, "plain") {
					args = []byte(`{ "a" : "<>&` + "\u2028" + `\ud800\u003C\\u003c" , "n" : 1.50 }`)
				}
				blocks = append(blocks, call(id, string(args)))
				heard = append(heard, result(id, rapid.SampledFrom([]journal.Outcome{"ok", "error", "skipped"}).Draw(t, "outcome"), words.Draw(t, "result")))
			}
			turn := []journal.Message{said(blocks...)}
			if len(heard) > 0 {
				turn = append(turn, results(heard...))
			}
			s.messages = append(s.messages, turn)
		}
	}
	return s
}

func (s story) upTo(n int) []journal.Message { return slices.Concat(s.messages[:n]...) }

// stored is what the store makes of a value and gives back.
func stored(t *rapid.T, messages []journal.Message, escape bool) (out []journal.Message) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escape)
	if err := e.Encode(messages); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Issue 3, behaviour 1: the request is a function of the facts. It has the same bytes when it is
// built again, and when it is built from what the journal kept.
func TestSameRequestSameBytes(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		req := model.Request{System: "S", Messages: drawStory(t, 3).upTo(1), Tools: []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{}`)}}}
		s := drawStory(t, 12)
		req.Messages = s.upTo(len(s.messages))
		name := rapid.SampledFrom([]string{"claude-opus-5-5", "claude-haiku-4-5", "local"}).Draw(t, "model")
		first, err := encode(name, req)
		if err != nil || !json.Valid(first.body) {
			t.Fatalf("%v: %s", err, first.body)
		}
		for _, escape := range []bool{false, true} {
			again := req
			again.Messages = stored(t, req.Messages, escape)
			second, err := encode(name, again)
			if err != nil || !bytes.Equal(first.body, second.body) || first.prefix != second.prefix {
				t.Fatalf("escape %t, %v:\n%s\n%s", escape, err, first.body, second.body)
			}
		}
	})
}

// Issue 3, behaviour 1: a later request begins with the bytes of every earlier one, up to the new
// part.
func TestEarlierRequestIsPrefix(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t, 12)
		name := rapid.SampledFrom([]string{"claude-opus-4-6", "claude-haiku-4-5", "local"}).Draw(t, "model")
		var before []byte
		for n := 1; n <= len(s.messages); n++ {
			if n < len(s.messages) && s.messages[n][0].Role == journal.RoleUser {
				continue // the run ended, so nothing was asked here
			}
			e, err := encode(name, model.Request{System: "S", Messages: s.upTo(n), Effort: journal.EffortNone})
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := bytes.Cut(e.body, []byte(`"messages":[`))
			narrow := bytes.ReplaceAll(rest, []byte(marker), nil)
			if bytes.Count(rest, []byte(marker)) > 1 || bytes.Count(head, []byte("cache_control")) != 2 {
				t.Fatalf("more breakpoints than there may be: %s", e.body)
			}
			now := slices.Concat(head, []byte(`"messages":[`), narrow)
			if len(narrow) == len(rest) && !bytes.Equal(now, e.body) {
				t.Fatal("the body has something else beside breakpoints")
			}
			if !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte(`]}]}`))) { // the last message may go on
				t.Fatalf("request %d does not begin with the one before\n%s\n%s", n, before, now)
			}
			before = now
		}
	})
}

// What the API demands of a conversation, for any story.
func TestConversationIsValid(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t, 4)
		e, err := encode("claude-opus-5-5", model.Request{Messages: s.upTo(len(s.messages))})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Messages []struct {
				Role    string
				Content []struct {
					Type, Text, ID string
					ToolUseID      string `json:"tool_use_id"`
					Input          map[string]any
				}
			}
		}
		if err := json.Unmarshal(e.body, &body); err != nil {
			t.Fatal(err)
		}
		var open []string
		for i, m := range body.Messages {
			if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
				t.Fatalf("message %d is the %s's with %d blocks", i, m.Role, len(m.Content))
			}
			for j, c := range m.Content {
				switch {
				case j < len(open) && (c.Type != "tool_result" || c.ToolUseID != open[j]):
					t.Fatalf("message %d begins with %+v, not the result of %s", i, c, open[j])
				case j >= len(open) && c.Type == "tool_result":
					t.Fatalf("message %d has a result without a call", i)
				case c.Type == "text" && blank(c.Text):
					t.Fatalf("message %d has blank text", i)
				case c.Type == "tool_use" && c.Input == nil:
					t.Fatalf("message %d has a call without an object", i)
				}
			}
			open = nil
			for _, c := range m.Content {
				if c.Type == "tool_use" {
					open = append(open, c.ID)
				}
			}
		}
		if len(body.Messages)%2 != 1 || len(open) > 0 {
			t.Fatal("the user has not the last word")
		}
	})
}

// A turn of many blocks leaves the end of the request before out of the provider's look back, so a
// breakpoint stands there.
func TestBreakpointOfAWideTurn(t *testing.T) {
	turn := func(n int) []journal.Message {
		messages := []journal.Message{user("Q")}
		var calls, heard []journal.Block
		for i := range n {
			id := fmt.Sprintf("c-%d", i)
			calls, heard = append(calls, call(id, `{}`)), append(heard, result(id, "ok", "r"))
		}
		return append(messages, said(calls...), results(heard...))
	}
	const end = `{"type":"text","text":"Q","cache_control":{"type":"ephemeral"}}`
	for n, want := range map[int]bool{1: false, 7: false, 8: true, 500: true} {
		body := mustEncode(t, "claude-opus-5-5", model.Request{Messages: turn(n)}).body
		if got := bytes.Contains(body, []byte(end)); got != want {
			t.Errorf("%d calls: breakpoint at the end of the request before: %t, want %t", n, got, want)
		}
	}
	last := mustEncode(t, "x", model.Request{Tools: []model.ToolSpec{{Name: "a"}, {Name: "b"}}}).body
	if !bytes.Contains(last, []byte(`"name":"b","description":"","input_schema":{"type":"object"},"cache_control"`)) {
		t.Errorf("without a system prompt the last tool is not marked: %s", last)
	}
}

// From 5.1 on a thinking block is taken back only behind what it was thought behind. What changed
// later, such as a summary of older turns, takes it out instead of ending the thread; what is
// thought after the change stays.
func TestThinkingIsBoundToItsPrefix(t *testing.T) {
	const name = "claude-opus-5-5"
	has := func(req model.Request, name, signature string) bool {
		return bytes.Contains(mustEncode(t, name, req).body, []byte(signature))
	}
	req := model.Request{System: "S", Messages: []journal.Message{user("Q")}}
	req.Messages = append(req.Messages, said(thinking("1", "sig-1", mustEncode(t, name, req).prefix), call("c-1", `{}`)), results(result("c-1", "ok", "r")))
	req.Messages = append(req.Messages, said(thinking("2", "sig-2", mustEncode(t, name, req).prefix), text("A")), user("R"))
	if !has(req, name, "sig-1") || !has(req, name, "sig-2") {
		t.Fatalf("thinking is lost: %s", mustEncode(t, name, req).body)
	}
	edited := req
	edited.Messages = slices.Clone(req.Messages)
	edited.Messages[2] = results(result("c-1", "ok", "r\nA person says that it happened."))
	if !has(edited, name, "sig-1") || has(edited, name, "sig-2") {
		t.Error("a result changed: the thinking before it stays, the one behind it goes")
	}
	edited.Messages = append(edited.Messages, said(thinking("3", "sig-3", mustEncode(t, name, edited).prefix), text("B")), user("S"))
	if !has(edited, name, "sig-1") || has(edited, name, "sig-2") || !has(edited, name, "sig-3") {
		t.Error("what is thought after the change stays")
	}
	for what, change := range map[string]func(*model.Request){
		"system": func(r *model.Request) { r.System = "T" },
		"tools":  func(r *model.Request) { r.Tools = []model.ToolSpec{{Name: "new"}} },
		"prompt": func(r *model.Request) { r.Messages = append([]journal.Message{user("Summary.")}, r.Messages[1:]...) },
	} {
		other := req
		other.Messages = slices.Clone(req.Messages)
		change(&other)
		if has(other, name, "sig-") {
			t.Errorf("%s changed: thinking is sent that will be refused", what)
		}
		if !has(other, "claude-opus-4-6", "sig-1") {
			t.Errorf("%s changed: a model that does not look loses its thinking", what)
		}
	}
	same := req
	same.Effort, same.MaxOutput = journal.EffortLow, 999
	if !has(same, name, "sig-2") {
		t.Error("parameters are no part of the prefix")
	}
}
