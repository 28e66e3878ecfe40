package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent/host/model"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// Text and thinking come as they arrive; the answer has every block, its calls with the provider's
// ids, and the usage.
func TestAnswerOfEveryKindOfBlock(t *testing.T) {
	s := serve(t, stream(everything()))
	g := s.answers(t)
	if want := "Okay, let me look."; g.text != want {
		t.Errorf("text shown: %q, want %q", g.text, want)
	}
	if want := "Let me see <b> & \u2028."; g.reasoning != want {
		t.Errorf("reasoning shown: %q, want %q", g.reasoning, want)
	}
	want := `reasoning "Let me see <b> & \u2028."
reasoning ""
text "Okay, let me look."
call "" id="" toolu_01 read_file {"path": "a.txt"}
call "" id="" toolu_02 list_dir {}
`
	if text := describe(g.answer.Blocks); text != want {
		t.Errorf("blocks:\n%swant:\n%s", text, want)
	}
	a := g.answer
	if a.Stop != journal.AnswerCalls || a.Served != "claude-sonnet-4-5-20250929" || a.Origin != "req_header" {
		t.Errorf("stop %s, served by %s, origin %s", a.Stop, a.Served, a.Origin)
	}
	if want := (journal.Usage{Input: 1325, Cached: 1000, Written: 300, Output: 15}); a.Usage == nil || *a.Usage != want {
		t.Errorf("usage %+v, want %+v", a.Usage, want)
	}
}

// DESIGN 11: what the provider needs back unchanged goes back byte for byte.
func TestThinkingGoesBackAsItCame(t *testing.T) {
	s := serve(t, stream(everything()))
	g := s.answers(t)
	req := prompt("Hello")
	req.Messages = append(req.Messages, asTurn(g.answer, "c-1", "c-2")...)
	body := mustEncode(t, "claude-sonnet-4-5", req).body
	for _, want := range []string{
		"{\"type\":\"thinking\",\"thinking\":\"Let me see <b> & \u2028.\",\"signature\":\"EqQBCgIYAhIM1gbcDa9GJwZA2b3h/+==\"}",
		`{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a+w=="}`,
	} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("the next request lacks\n%s\n%s", want, body)
		}
	}
}

// A server that signs no thinking gets back what it gave; the provider, which signs all, gets
// nothing unsigned.
func TestUnsignedThinking(t *testing.T) {
	s := serve(t, stream(messageStart()+blockStart(0, obj{"type": "thinking", "thinking": ""})+
		blockDelta(0, obj{"type": "thinking_delta", "thinking": "Hm."})+blockStop(0)+textBlock(1, "Hi.")+messageEnd("end_turn")))
	req := prompt("Hello")
	req.Messages = append(req.Messages, asTurn(s.answers(t).answer)...)
	for name, want := range map[string]bool{"qwen3": true, "claude-opus-4-5": false, "claude-opus-5-5": false} {
		body := mustEncode(t, name, req).body
		if got := bytes.Contains(body, []byte(`{"type":"thinking","thinking":"Hm.","signature":""}`)); got != want || bytes.Contains(body, []byte("Hm.")) != want {
			t.Errorf("%s: sent back %t, want %t: %s", name, got, want, body)
		}
	}
}

// Issue 3, behaviour 2: wherever a stream breaks off, there is the whole answer or none.
func TestCutAtEveryByte(t *testing.T) {
	whole := everything()
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%t", clean), func(t *testing.T) {
			var at atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				stream(whole[:at.Load()])(w, r)
				if !clean {
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			m := New(s.options())
			full := strings.LastIndex(whole, "}")        // the last event is complete with its empty line
			every := os.Getenv("AGENT_TESTS") == "whole" // else, within an event, every eighth byte
			for i := 0; i <= len(whole); i++ {
				if near := strings.Contains(whole[max(0, i-3):min(i+3, len(whole))], "\n\n"); !near && !every && i%8 != 0 {
					continue
				}
				at.Store(int64(i))
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				g := collect(ctx, m, prompt("Hello"))
				cancel()
				if g.answer != nil {
					if i <= full || len(g.answer.Blocks) != 5 {
						t.Fatalf("cut at byte %d of %d: half an answer: %s", i, len(whole), describe(g.answer.Blocks))
					}
					continue
				}
				var e *model.Error
				if !errors.As(g.err, &e) || e.Fault != journal.FaultCut || !e.Began || i == len(whole) {
					t.Fatalf("cut at byte %d of %d: %v, want fault cut", i, len(whole), g.err)
				}
			}
		})
	}
}

// Arguments are kept byte for byte, JSON or not.
func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"html and line separators": {[]string{"{\"a\":\"<>&\u2028\u2029\"", ",\"b\":\"\\u003c\\ud83d\\ude00\"}"}, "{\"a\":\"<>&\u2028\u2029\",\"b\":\"\\u003c\\ud83d\\ude00\"}"},
		"white space":              {[]string{"{ \"a\" :\n", "\t1.50 } "}, "{ \"a\" :\n\t1.50 } "},
		"no JSON":                  {[]string{`{"a": `, `oops`}, `{"a": oops`},
		"empty":                    {nil, `{}`},
		"one empty piece":          {[]string{""}, `{}`},
		"a letter at a time":       {strings.Split(`{"path":"x"}`, ""), `{"path":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, stream(messageStart()+callBlock(0, "toolu_1", "f", c.pieces...)+messageEnd("tool_use")))
			if args := string(s.answers(t).answer.Blocks[0].Call.Args); args != c.want {
				t.Errorf("arguments %q, want %q", args, c.want)
			}
		})
	}
	t.Run("whole with the start", func(t *testing.T) {
		start := blockStart(0, obj{"type": "tool_use", "id": "", "name": "f", "input": obj{"a": 1}}) + blockStop(0)
		s := serve(t, stream(messageStart()+start+messageEnd("tool_use")))
		if args := string(s.answers(t).answer.Blocks[0].Call.Args); args != `{"a":1}` {
			t.Errorf("arguments %q", args)
		}
	})
}

func TestStopReasons(t *testing.T) {
	text := textBlock(0, "Hi.")
	call := callBlock(1, "toolu_1", "f", `{}`)
	for _, c := range []struct {
		reason, blocks string
		want           journal.AnswerStop
	}{
		{"end_turn", text, journal.AnswerEnd},
		{"stop_sequence", text, journal.AnswerEnd},
		{"tool_use", text, journal.AnswerEnd}, // nothing to wait for
		{"tool_use", text + call, journal.AnswerCalls},
		{"end_turn", text + call, journal.AnswerCalls},
		{"pause_turn", text, journal.AnswerPause},
		{"max_tokens", text, journal.AnswerLength},
		{"model_context_window_exceeded", text, journal.AnswerLength},
		{"refusal", text, journal.AnswerRefuse},
		{"end_turn", "", journal.AnswerEnd},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := serve(t, stream(messageStart()+c.blocks+messageEnd(c.reason)))
			if stop := s.answers(t).answer.Stop; stop != c.want {
				t.Errorf("stop %s, want %s", stop, c.want)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		s := serve(t, stream(messageStart()+text+call+messageEnd("brand_new")))
		if e := s.fails(t); e.Fault != journal.FaultGarbage || !strings.Contains(e.Message, `"brand_new"`) || !e.Began {
			t.Errorf("%+v", e)
		}
	})
	t.Run("told before the last usage", func(t *testing.T) {
		s := serve(t, stream(messageStart()+text+ev("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": "max_tokens"}})+
			ev("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": nil}, "usage": obj{"output_tokens": 3}})+
			ev("message_stop", obj{"type": "message_stop"})))
		if a := s.answers(t).answer; a.Stop != journal.AnswerLength || a.Usage.Output != 3 {
			t.Errorf("stop %s, usage %+v", a.Stop, a.Usage)
		}
	})
	t.Run("none", func(t *testing.T) {
		s := serve(t, stream(messageStart()+text+ev("message_stop", obj{"type": "message_stop"})))
		if e := s.fails(t); e.Fault != journal.FaultCut {
			t.Errorf("%+v", e)
		}
	})
}

// Issue 3: an answer cut by max_tokens in the middle of a call never runs that call, even where
// what came of its arguments happens to be JSON. Calls before it are whole.
func TestCallCutByTheLimit(t *testing.T) {
	for _, args := range []string{`{"command":"rm -rf build`, `{"command":"rm -rf /"}`, `{"n":1`, `{`, ``, `{"a":"\`, `[1,2`, `"x`, `12`} {
		for _, reason := range []string{"max_tokens", "model_context_window_exceeded"} {
			s := serve(t, stream(messageStart()+callBlock(0, "toolu_1", "f", `{"whole":true}`)+
				callBlock(1, "toolu_2", "f", args)+messageEnd(reason)))
			blocks := s.answers(t).answer.Blocks
			if whole := blocks[0].Call.Args; !json.Valid(whole) {
				t.Errorf("%s: the call before is not whole: %s", reason, whole)
			}
			cut := blocks[1].Call.Args
			if json.Valid(cut) || !strings.HasPrefix(string(cut), args) {
				t.Errorf("%s: arguments %q became %q", reason, args, cut)
			}
		}
	}
	for _, after := range []string{textBlock(1, "and th"), textBlock(1)} {
		s := serve(t, stream(messageStart()+callBlock(0, "toolu_1", "f", `{"whole":true}`)+after+messageEnd("max_tokens")))
		if args := s.answers(t).answer.Blocks[0].Call.Args; !json.Valid(args) {
			t.Errorf("a call that ended before the limit is taken for cut: %s", args)
		}
	}
}

// A refused answer was broken off: none of its calls may run. The provider's reason is shown where
// there is no other word.
func TestRefusal(t *testing.T) {
	end := ev("message_delta", obj{"type": "message_delta", "usage": obj{"output_tokens": 3}, "delta": obj{
		"stop_reason": "refusal", "stop_details": obj{"type": "refusal", "category": "cyber", "explanation": "Not this."},
	}}) + ev("message_stop", obj{"type": "message_stop"})
	s := serve(t, stream(messageStart()+callBlock(0, "toolu_1", "f", `{}`)+end))
	if text := describe(s.answers(t).answer.Blocks); text != "text \"Not this.\"\n" {
		t.Errorf("blocks: %s", text)
	}
}

// Calls are read side by side: a thousand of them, their pieces mixed.
func TestThousandCalls(t *testing.T) {
	const n = 1000
	var b strings.Builder
	b.WriteString(messageStart())
	for i := range n {
		b.WriteString(blockStart(i, obj{"type": "tool_use", "id": "same", "name": "f", "input": obj{}}))
	}
	for _, piece := range []string{`{"n":`, `%d`, `}`} {
		for i := range n {
			p := piece
			if p == `%d` {
				p = fmt.Sprint(i)
			}
			b.WriteString(blockDelta(i, obj{"type": "input_json_delta", "partial_json": p}))
		}
	}
	for i := range n {
		b.WriteString(blockStop(i))
	}
	s := serve(t, stream(b.String()+messageEnd("tool_use")))
	blocks := s.answers(t).answer.Blocks
	if len(blocks) != n {
		t.Fatalf("%d calls", len(blocks))
	}
	for i, x := range blocks {
		if want := fmt.Sprintf(`{"n":%d}`, i); string(x.Call.Args) != want {
			t.Fatalf("call %d has arguments %s", i, x.Call.Args)
		}
	}
}

func TestFiveMegabytesOfText(t *testing.T) {
	piece := strings.Repeat("<é\u2028. ", 128)
	pieces := make([]string, 5<<20/len(piece)+1)
	for i := range pieces {
		pieces[i] = piece
	}
	s := serve(t, stream(messageStart()+textBlock(0, pieces...)+messageEnd("end_turn")))
	g := s.answers(t)
	want := strings.Join(pieces, "")
	if len(want) < 5<<20 || g.answer.Blocks[0].Text != want || g.text != want {
		t.Errorf("%d bytes came, want %d", len(g.answer.Blocks[0].Text), len(want))
	}
	want = want[:1<<20]
	one := serve(t, stream(messageStart()+textBlock(0, want)+messageEnd("end_turn")))
	if one.answers(t).answer.Blocks[0].Text != want {
		t.Error("the same in one event differs")
	}
}

// Text that came behind a call goes back behind it: the journal keeps calls last.
func TestOrderOfBlocksSurvives(t *testing.T) {
	s := serve(t, stream(messageStart()+textBlock(0, "one")+callBlock(1, "t1", "f", `{}`)+textBlock(2, "two")+
		callBlock(3, "t2", "g", `{}`)+messageEnd("tool_use")))
	req := prompt("Hello")
	req.Messages = append(req.Messages, asTurn(s.answers(t).answer, "c-1", "c-2")...)
	want := `{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"tool_use","id":"c-1","name":"f","input":{}},` +
		`{"type":"text","text":"two"},{"type":"tool_use","id":"c-2","name":"g","input":{}}]}`
	if body := mustEncode(t, "claude-opus-5-5", req).body; !bytes.Contains(body, []byte(want)) {
		t.Errorf("want %s in\n%s", want, body)
	}
}

// Events, deltas and blocks of kinds to come do no harm; a block goes back as it was.
func TestWhatIsNotKnown(t *testing.T) {
	s := serve(t, stream(messageStart()+ev("brand_new", obj{"type": "brand_new", "x": 1})+
		blockStart(0, obj{"type": "novelty", "payload": "<x>"})+blockStop(0)+
		blockStart(1, obj{"type": "novelty", "payload": "half"})+blockDelta(1, obj{"type": "novelty_delta"})+blockStop(1)+
		blockStart(2, obj{"type": "text", "text": "Hi"})+blockDelta(2, obj{"type": "citations_delta", "citation": obj{}})+
		blockStop(2)+messageEnd("end_turn")))
	g := s.answers(t)
	if g.text != "Hi" {
		t.Errorf("text %q", g.text)
	}
	req := prompt("Hello")
	req.Messages = append(req.Messages, asTurn(g.answer)...)
	want := `"content":[{"payload":"<x>","type":"novelty"},{"type":"text","text":"Hi"}]`
	if body := mustEncode(t, "claude-sonnet-4-5", req).body; !bytes.Contains(body, []byte(want)) {
		t.Errorf("want %s in\n%s", want, body)
	}
}

func TestUsage(t *testing.T) {
	start := func(usage any) string {
		return ev("message_start", obj{"type": "message_start", "message": obj{"id": "m", "model": "x", "usage": usage}})
	}
	end := func(usage any) string {
		return ev("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": "end_turn"}, "usage": usage}) +
			ev("message_stop", obj{"type": "message_stop"})
	}
	for name, c := range map[string]struct {
		events string
		want   *journal.Usage
	}{
		"none":       {start(nil) + end(nil), nil},
		"zeros":      {start(obj{"input_tokens": 0, "output_tokens": 0}) + end(obj{"output_tokens": 0}), nil},
		"delta only": {start(nil) + end(obj{"input_tokens": 7, "output_tokens": 3}), &journal.Usage{Input: 7, Output: 3}},
		"cumulative": {
			start(obj{"input_tokens": 5, "output_tokens": 1}) + ev("message_delta", obj{"type": "message_delta", "delta": obj{}, "usage": obj{"output_tokens": 9}}) +
				end(obj{"input_tokens": 6, "cache_read_input_tokens": 10, "output_tokens": 20, "output_tokens_details": obj{"thinking_tokens": 12}}),
			&journal.Usage{Input: 16, Cached: 10, Output: 20, Reasoning: 12},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, stream(c.events))
			if u := s.answers(t).answer.Usage; (u == nil) != (c.want == nil) || u != nil && *u != *c.want {
				t.Errorf("usage %+v, want %+v", u, c.want)
			}
		})
	}
}

// tellingBody says when the end of the answer was read.
type tellingBody struct {
	io.ReadCloser
	read func()
}

func (b tellingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte("message_stop")) {
		b.read()
	}
	return n, err
}

type tellingTransport struct {
	http.RoundTripper
	read func()
}

func (t tellingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = tellingBody{res.Body, t.read}
	}
	return res, err
}

// The connection of an answer serves the next request, also where the body's end comes after the
// answer's; and nobody waits for a server that does not hang up.
func TestConnectionIsUsedAgain(t *testing.T) {
	read := make(chan struct{}, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(everything())(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-read:
		case <-r.Context().Done():
		}
	})
	s.client = transport.Client(transport.Options{Base: tellingTransport{&http.Transport{}, func() { read <- struct{}{} }}})
	for range 3 {
		s.answers(t)
	}
	conns := map[string]bool{}
	for _, r := range s.requests() {
		conns[r.from] = true
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for three requests", len(conns))
	}
	hold := make(chan struct{})
	open := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(everything())(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	defer close(hold)
	began := time.Now()
	open.answers(t)
	if took := time.Since(began); took > limit/2 {
		t.Errorf("the answer was there, and came after %s", took)
	}
}

// Issue 3, behaviour 5: Ctrl-C during a stream, and before it, ends it at once with the context's
// own error, which is no fault of anybody.
func TestContextEndsTheStream(t *testing.T) {
	reached := make(chan struct{}, 1)
	hanging := func(events string) Options {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			if events != "" {
				stream(events)(w, r)
				w.(http.Flusher).Flush()
			}
			reached <- struct{}{}
			<-r.Context().Done()
		}).options()
	}
	ends := func(t *testing.T, o Options, when func(cancel func(), d model.Delta)) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var last error
		when(cancel, model.Delta{})
		for d, err := range New(o).Stream(ctx, prompt("Hello")) {
			if last = err; err == nil {
				when(cancel, d)
			}
		}
		if last != context.Canceled {
			t.Errorf("%T %v", last, last)
		}
	}
	t.Run("in the stream", func(t *testing.T) {
		o := hanging(messageStart() + blockStart(0, obj{"type": "text", "text": "Hi"}))
		ends(t, o, func(cancel func(), d model.Delta) {
			if d.Text != "" {
				cancel()
			}
		})
		<-reached
	})
	t.Run("before it", func(t *testing.T) {
		ends(t, hanging(""), func(cancel func(), _ model.Delta) {
			go func() { <-reached; cancel() }()
		})
	})
	t.Run("at the key", func(t *testing.T) {
		o := hanging("")
		ctx, cancel := context.WithCancel(t.Context())
		o.Key = func(ctx context.Context) (string, error) {
			cancel()
			return "", fmt.Errorf("run the command: %w", ctx.Err())
		}
		if g := collect(ctx, New(o), prompt("Hello")); g.err != context.Canceled {
			t.Errorf("%T %v", g.err, g.err)
		}
	})
}

// A reader who stops reading ends the request.
func TestReaderLeaves(t *testing.T) {
	gone := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(messageStart()+blockStart(0, obj{"type": "text", "text": "Hi"}))(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for range New(s.options()).Stream(ctx, prompt("Hello")) {
		break
	}
	select {
	case <-gone:
	case <-ctx.Done():
		t.Error("the request goes on")
	}
}

// asTurn is what the host makes of an answer: calls behind everything else, with ids of ours, and
// their results.
func asTurn(a *model.Answer, ids ...string) []journal.Message {
	var blocks, calls, results []journal.Block
	for _, b := range a.Blocks {
		if b.Kind != journal.BlockCall {
			blocks = append(blocks, b)
			continue
		}
		c := *b.Call
		c.ID = ids[len(calls)]
		calls = append(calls, journal.Block{Kind: journal.BlockCall, Call: &c})
		results = append(results, journal.Block{Kind: journal.BlockResult, Result: &journal.ResultBlock{
			ID: c.ID, Provider: c.Provider, Tool: c.Tool, Outcome: journal.OutcomeOK, Text: "done",
		}})
	}
	out := []journal.Message{{Role: journal.RoleAssistant, Blocks: append(blocks, calls...)}}
	if len(results) > 0 {
		out = append(out, journal.Message{Role: journal.RoleTool, Blocks: results})
	}
	return out
}

func mustEncode(t testing.TB, name string, req model.Request) encoded {
	t.Helper()
	e, err := encode(name, req)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(e.body) {
		t.Fatalf("the body is not JSON: %s", e.body)
	}
	return e
}

// A delta in the provider's usual spelling, which is read faster, is read as any other.
func TestUsualSpellingIsReadAlike(t *testing.T) {
	read := 0
	alike := func(index, kind, text, end string) {
		t.Helper()
		data := []byte(`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"` + kind + `":"` + text + `"` + end)
		quick, ok := quickly(data)
		if !ok {
			return
		}
		read++
		var slow event
		if err := json.Unmarshal(data, &slow); err != nil || !reflect.DeepEqual(quick, slow) {
			t.Fatalf("%s\n%+v\n%+v, %v", data, quick, slow, err)
		}
	}
	for _, index := range []string{"0", "7", "12", "01", "-1", "1.0", "", "99999999"} {
		for _, kind := range []string{`text_delta","text`, `input_json_delta","partial_json`, `thinking_delta","thinking`, `signature_delta","signature`, `text_delta","thinking`, `text`} {
			for _, end := range []string{"}}", "}  }", "} }\n", "}}}", "}", `,"x":1}}`, "}} x", ""} {
				alike(index, kind, "a", end)
			}
		}
	}
	letters := []string{"", "a", "{", "}", `"`, `\"`, `\\`, `\n`, `\u2028`, `\ud83d`, `\ude00`, `\x`, "\u2028", "é", "\xff", "\xe2\x80", "\x00", "\n", " ", ",", "<", `","text":"`}
	for _, a := range letters {
		for _, b := range letters {
			for _, c := range letters {
				alike("0", `text_delta","text`, a+b+c, "}}")
			}
		}
	}
	if read < 1000 {
		t.Errorf("%d were in the usual spelling", read)
	}
}
