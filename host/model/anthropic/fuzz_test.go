package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agent/host/model"
	"agent/host/model/modeltest"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// fuzzLargest bounds an answer here, so that one without an end is read to its bound often.
const fuzzLargest = 1 << 16

func askPieces(t *testing.T, p *modeltest.Pieces) got {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	o := Options{Model: "qwen3", HTTP: transport.Client(transport.Options{Base: p, Largest: fuzzLargest}), Key: func(context.Context) (string, error) { return "sk-test", nil }}
	return collect(ctx, New(o), prompt("Hello"))
}

// outcome is all that somebody hears of a request.
func (g got) outcome() string {
	said := "none"
	if e, ok := errors.AsType[*model.Error](g.err); ok {
		said = fmt.Sprintf("%s %q began %t after %s from %q", e.Fault, e.Message, e.Began, e.After, e.Origin)
	} else if g.err != nil {
		said = fmt.Sprintf("%T %v", g.err, g.err)
	}
	answer, err := json.Marshal(g.answer)
	if err != nil {
		answer = []byte(err.Error())
	}
	return fmt.Sprintf("text %q\nreasoning %q\nanswer %s\nerror %s", g.text, g.reasoning, answer, said)
}

// FuzzStream feeds whatever a server may send. It is an answer or an error that a person can read,
// the same one in whatever pieces it comes; an answer can be sent back; and a stream that does not
// end is read up to a bound.
func FuzzStream(f *testing.F) {
	for _, stream := range []string{
		everything(), strings.ReplaceAll(everything(), "\n", "\r\n"), strings.ReplaceAll(everything(), "\n", "\r"), "\ufeff" + messageStart() + textBlock(0, "a") + messageEnd("end_turn"),
		messageStart() + callBlock(7, "toolu_1", "f", `{"a": `, `1e999`) + messageEnd("max_tokens"), messageStart() + textBlock(-1, "\u2028<b>") + messageEnd("refusal"),
		messageStart() + blockStart(0, obj{"type": "server_tool_use", "id": "x", "name": "y", "input": obj{}}) + blockDelta(0, obj{"type": "input_json_delta", "partial_json": "{"}) + blockStop(0) + messageEnd("pause_turn"),
		ev("error", obj{"type": "error", "error": obj{"type": "overloaded_error", "message": "over\nloaded \x1b[2J"}}), messageStart() + messageStart(), messageEnd("end_turn"), ping, ": x\n\n", "{}", "\x00\xff",
		"data: {\"type\":\"message_start\",\"message\":{\"id\":1}}\n\n", messageStart() + "data: {\"type\":\"content_block_start\",\"index\":0,\ndata: \"content_block\":{\"type\":\"text\",\"text\":\"\\ud800\"}}\n\n" + blockStop(0) + messageEnd("end_turn"),
	} {
		f.Add([]byte(stream), uint64(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		g := askPieces(t, &modeltest.Pieces{Stream: string(stream)})
		if a, b := g.outcome(), askPieces(t, &modeltest.Pieces{Stream: string(stream), Cuts: rand.New(rand.NewPCG(seed, 1))}).outcome(); a != b {
			t.Errorf("as a whole it is\n%s\nin pieces\n%s", a, b)
		}
		if len(stream) > 0 {
			endless := &modeltest.Pieces{Stream: string(stream), Rounds: 1 << 30}
			e := askPieces(t, endless)
			if read := endless.Past() * len(stream); read > 2*fuzzLargest+len(stream) || len(e.text)+len(e.reasoning) > 4*fuzzLargest {
				t.Errorf("%d bytes were read of a stream without an end, %d shown: %v", read, len(e.text)+len(e.reasoning), e.err)
			}
		}
		if g.answer == nil {
			var e *model.Error
			if !errors.As(g.err, &e) || e.Message == "" || e.Fault == "" || strings.ContainsAny(e.Message, "\r\n\x1b\x00") {
				t.Errorf("%T %q", g.err, g.err)
			}
			return
		}
		sentBack(t, g.answer)
	})
}

// sentBack: the answer is whole, and the next request can hold it.
func sentBack(t *testing.T, a *model.Answer) {
	t.Helper()
	var ids []string
	for i, b := range a.Blocks {
		if b.Opaque != nil && !json.Valid(b.Opaque) {
			t.Errorf("what is kept is not JSON: %s", b.Opaque)
		}
		if b.Kind == journal.BlockCall {
			ids = append(ids, fmt.Sprint("c-", i))
		}
	}
	if a.Stop == "" || a.Stop == journal.AnswerRefuse && len(ids) > 0 || a.Stop == journal.AnswerCalls && len(ids) == 0 {
		t.Errorf("the answer ends with %q and has %d calls", a.Stop, len(ids))
	}
	req := prompt("Hello")
	req.Messages = append(req.Messages, journaled(t, asTurn(a, ids...))...)
	mustEncode(t, "qwen3", req)
}

// journaled is what a journal gives back of messages, which keeps arguments that are no JSON as a
// text.
func journaled(t *testing.T, messages []journal.Message) (back []journal.Message) {
	t.Helper()
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Call != nil && !json.Valid(b.Call.Args) {
				quoted, err := json.Marshal(string(b.Call.Args))
				if err != nil {
					t.Fatal(err)
				}
				b.Call.Args = quoted
			}
		}
	}
	raw, err := json.Marshal(messages)
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}
