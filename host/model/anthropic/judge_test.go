package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agent/host/model"
	"agent/host/model/modeltest"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// judge is a run against a server that was written from the documentation alone: it refuses what
// the provider would, and keeps a cache as the provider's is described.
type judge struct {
	t     *testing.T
	s     *modeltest.Server
	m     model.Model
	req   model.Request
	calls int
}

func newJudge(t *testing.T, name string, script modeltest.Script) *judge {
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
	o := Options{
		Model: name, BaseURL: s.URL(), HTTP: transport.Client(transport.Options{}),
		Key: func(context.Context) (string, error) { return modeltest.DefaultKey, nil },
	}
	t.Cleanup(o.HTTP.CloseIdleConnections)
	return &judge{t: t, s: s, m: New(o), req: model.Request{
		System: strings.Repeat("You are a test. ", 50), Effort: journal.EffortHigh, Messages: []journal.Message{user("go")},
		Tools: []model.ToolSpec{{Name: "shell", Description: "Runs.", Schema: json.RawMessage(`{"type":"object"}`)}},
	}}
}

// turn asks, and adds the answer and its results to the conversation.
func (j *judge) turn() *model.Answer {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), limit)
	defer cancel()
	j.req.Turn++
	g := collect(ctx, j.m, j.req)
	if g.err != nil {
		j.t.Fatalf("turn %d: %v", j.req.Turn, g.err)
	}
	var ids []string
	for _, b := range g.answer.Blocks {
		if b.Kind == journal.BlockCall {
			j.calls++
			ids = append(ids, fmt.Sprintf("c-%d", j.calls))
		}
	}
	j.req.Messages = append(j.req.Messages, asTurn(g.answer, ids...)...)
	return g.answer
}

func (j *judge) content() {
	j.t.Helper()
	for _, e := range j.s.Exchanges() {
		if e.Refusal != "" || e.Differs != "" {
			j.t.Errorf("request %d is refused (%q) or tells the model wrongly what it said (%q)", e.Number, e.Refusal, e.Differs)
		}
	}
}

// Issue 3: a long run is read from the provider's cache. Whatever the width of its turns, each
// request finds there all that the one before it sent.
func TestLongRunIsReadFromTheCache(t *testing.T) {
	var script modeltest.Script
	widths := []int{1, 2, 1, 6, 7, 8, 9, 10, 11, 1, 40, 1, 1, 300, 2, 0}
	for i, n := range widths {
		turn := modeltest.Turn{Thinking: fmt.Sprintf("Thought %d, <here> & there.", i), Text: fmt.Sprintf("Turn %d.", i)}
		for k := range n {
			turn.Calls = append(turn.Calls, modeltest.Call{Tool: "shell", Args: json.RawMessage(fmt.Sprintf(`{"command":"<%d> && %d"}`, i, k))})
		}
		script.Turns = append(script.Turns, turn)
	}
	for _, name := range []string{"claude-opus-5-5", "claude-haiku-4-5"} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t, name, script)
			before := int64(0)
			for i := range widths {
				u := j.turn().Usage
				if u.Cached < before {
					t.Errorf("turn %d read %d tokens from the cache, though %d had been sent before", i+1, u.Cached, before)
				}
				before = u.Input
			}
			j.content()
			other := newRequest(j)
			if u := collect(t.Context(), j.m, other).answer.Usage; u.Cached == 0 {
				t.Error("a new thread does not find the system prompt of the one before in the cache")
			}
		})
	}
}

func newRequest(j *judge) model.Request {
	req := j.req
	req.Messages, req.Turn = []journal.Message{user("another thread")}, 1
	return req
}

// Servers that call themselves compatible: no ids, one id for all calls, arguments in one piece, no
// usage, other line ends.
func TestQuirksOfServers(t *testing.T) {
	call := modeltest.Call{Tool: "shell", Args: json.RawMessage(`{"command":"ls"}`)}
	for name, q := range map[string]modeltest.Quirks{
		"plain": {}, "no ids": {IDs: "none"}, "one id": {IDs: "same"}, "ids by turn": {IDs: "turns"}, "whole arguments": {Whole: true},
		"no usage": {NoUsage: true}, "CR LF": {CRLF: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t, "claude-opus-4-6", modeltest.Script{Quirks: q, Turns: []modeltest.Turn{
				{Thinking: "Hm.", Redacted: true, Text: "One.", Calls: []modeltest.Call{call, call}}, {Calls: []modeltest.Call{call, call}}, {Text: "Done."},
			}})
			for _, want := range []int{2, 2, 0} {
				calls := 0
				for _, b := range j.turn().Blocks {
					if b.Kind == journal.BlockCall {
						calls++
						if string(b.Call.Args) != `{"command":"ls"}` {
							t.Errorf("arguments %s", b.Call.Args)
						}
					}
				}
				if calls != want {
					t.Errorf("%d calls, want %d", calls, want)
				}
			}
			j.content()
		})
	}
}

// After an answer that was cut, paused or refused, the API still takes the conversation.
func TestGoingOnAfterAnUnfinishedAnswer(t *testing.T) {
	call := modeltest.Call{Tool: "shell", Args: json.RawMessage(`{"command":"ls -l"}`)}
	for stop, want := range map[modeltest.Stop]journal.AnswerStop{
		modeltest.StopLength: journal.AnswerLength, modeltest.StopPause: journal.AnswerPause, modeltest.StopRefuse: journal.AnswerRefuse,
	} {
		t.Run(string(stop), func(t *testing.T) {
			first := modeltest.Turn{Thinking: "Hm.", Text: "I begin. ", Stop: stop}
			if stop == modeltest.StopLength {
				first.Calls = []modeltest.Call{call, call}
			}
			j := newJudge(t, "claude-fable-5-1", modeltest.Script{Turns: []modeltest.Turn{first, {Text: "Done."}}})
			if a := j.turn(); a.Stop != want {
				t.Fatalf("stop %s, want %s", a.Stop, want)
			}
			j.req.Messages = append(j.req.Messages, user("And now?"))
			j.turn()
			for _, e := range j.s.Exchanges() {
				if e.Refusal != "" {
					t.Errorf("request %d is refused: %s", e.Number, e.Refusal)
				}
			}
		})
	}
}
