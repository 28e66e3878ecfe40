package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/host/model/modeltest"
	"agent/host/model/openai"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// A server that checks requests as the provider does hears a whole conversation, with every way in
// which compatible servers differ: it refuses none of its requests, gets back as its answers what
// it said, and finds them in its cache.
func TestConversation(t *testing.T) {
	call := func(path string) modeltest.Call {
		return modeltest.Call{Tool: "read_file", Args: json.RawMessage(js(map[string]string{"path": path}))}
	}
	turns := []modeltest.Turn{
		{Thinking: "I look at <both> & \u2028 decide.", Text: "I read both.", Calls: []modeltest.Call{call("a"), call("a"), call("<b>&\u2028")}},
		{Calls: []modeltest.Call{{Tool: "read_file", Raw: `{"path":`}}},
		{Thinking: "Again.", Calls: []modeltest.Call{call("c")}},
		{Text: "Half of it", Calls: []modeltest.Call{call("d")}, Stop: modeltest.StopLength},
		{Thinking: "The end.", Text: "Done."},
	}
	for _, p := range []openai.Protocol{openai.Responses, openai.Chat} {
		for _, q := range []modeltest.Quirks{
			{}, {IDs: "none"}, {IDs: "same", Whole: true}, {IDs: "turns", NoUsage: true}, {CRLF: true, NoDone: true, NoFinish: true},
			{IDs: "none", Whole: true, Index0: true, NoFinish: true, NoDone: true, NoUsage: true, Reasoning: "reasoning"},
			{Reasoning: "reasoning_content", Alternate: true},
		} {
			t.Run(fmt.Sprintf("%s %+v", p, q), func(t *testing.T) {
				s, err := modeltest.Start(modeltest.Options{Script: modeltest.Script{Turns: turns, Quirks: q}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				converse(t, s, p, turns, q)
			})
		}
	}
}

func converse(t *testing.T, s *modeltest.Server, p openai.Protocol, turns []modeltest.Turn, q modeltest.Quirks) {
	m := openai.New(openai.Options{
		Model: "gpt-5.2", Protocol: p, BaseURL: s.V1(), HTTP: transport.Client(transport.Options{}),
		Key: func(context.Context) (string, error) { return modeltest.DefaultKey, nil },
	})
	req := question()
	req.Effort, req.System = journal.EffortHigh, strings.Repeat("Be brief. ", 1000) // a provider caches nothing small
	for i, turn := range turns {
		h, err := ask(t, m, req)
		if err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
		if turn.Stop == "" {
			var want []string
			for _, c := range turn.Calls {
				want = append(want, c.Tool+" "+c.Raw+string(c.Args))
			}
			if d := cmp.Diff(want, calls(h.answer)); d != "" || h.text != turn.Text {
				t.Errorf("turn %d: text %q, calls %s", i+1, h.text, d)
			}
		}
		if (h.answer.Usage == nil) != q.NoUsage && p == openai.Chat {
			t.Errorf("turn %d: usage %+v", i+1, h.answer.Usage)
		}
		req = journaled(t, follow(req, h.answer, i))
	}
	for _, e := range s.Exchanges() {
		if e.Refusal != "" || e.Differs != "" {
			t.Errorf("request %d: refused: %q; says of earlier answers: %q", e.Number, e.Refusal, e.Differs)
		}
		if e.Number > 1 && e.Cached == 0 {
			t.Errorf("request %d: nothing of it was in the cache", e.Number)
		}
	}
}
