package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agent/host/model"
	"agent/host/model/modeltest"
	"agent/host/model/openai"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// fuzzLargest bounds an answer here, so that one without an end is read to its bound often.
const fuzzLargest = 1 << 16

func modelOf(p *modeltest.Pieces, protocol openai.Protocol) model.Model {
	return openai.New(openai.Options{Model: "x", Protocol: protocol, HTTP: transport.Client(transport.Options{Base: p, Largest: fuzzLargest})})
}

// outcome is all that somebody hears of a request.
func outcome(h heard, err error) string {
	said := "none"
	if e, ok := errors.AsType[*model.Error](err); ok {
		said = fmt.Sprintf("%s %q began %t after %s from %q", e.Fault, e.Message, e.Began, e.After, e.Origin)
	} else if err != nil {
		said = fmt.Sprintf("%T %v", err, err)
	}
	answer, err := json.Marshal(h.answer)
	if err != nil {
		answer = []byte(err.Error())
	}
	return fmt.Sprintf("text %q\nreasoning %q\nanswer %s\nerror %s", h.text, h.reasoning, answer, said)
}

// FuzzStream feeds whatever a server may send. It is an answer or an error that a person can read,
// the same one in whatever pieces it comes; an answer can be sent back; and a stream that does not
// end is read up to a bound.
func FuzzStream(f *testing.F) {
	for _, stream := range []string{
		story(), strings.ReplaceAll(story(), "\n", "\r\n"), strings.ReplaceAll(story(), "\n", "\r"), "\ufeff" + completed("completed", "", storyMessage, storyCallA),
		completed("incomplete", `{"reason":"max_output_tokens"}`, storyCallA), ev("error", `"message":"no"`),
		": x\n\nid: 1\nretry: 5\nevent: response.created\ndata: {}\ndata: {}\n\n", ev("response.output_text.delta", `"output_index":99999999,"content_index":-1,"delta":"\ud800"`),
	} {
		f.Add(true, []byte(stream), uint64(1))
	}
	for _, stream := range []string{
		talk(), strings.ReplaceAll(talk(), "\n", "\r\n"),
		chunks(tool(`{"function":{"name":"x","arguments":{"a":1}}}`), finish("length")), "data: {\"error\":{\"code\":429}}\n\n", "{\"error\":{\"message\":\"no\"}}", "data:[DONE]\n\n", "\x00\xff",
		chunks(delta(`"content":[{"text":"a"}],"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]`), finish("stop")),
		chunks(delta(`"tool_calls":[{"index":2147483647,"id":"a","function":{"name":"f","arguments":"{"}},{"index":-1,"function":{"arguments":"}"}}]`), finish("tool_calls")),
	} {
		f.Add(false, []byte(stream), uint64(2))
	}
	f.Fuzz(func(t *testing.T, own bool, stream []byte, seed uint64) {
		p := openai.Chat
		if own {
			p = openai.Responses
		}
		whole := &modeltest.Pieces{Stream: string(stream)}
		h, err := ask(t, modelOf(whole, p), question())
		cut := &modeltest.Pieces{Stream: string(stream), Cuts: rand.New(rand.NewPCG(seed, 1))}
		if a, b := outcome(h, err), outcome(ask(t, modelOf(cut, p), question())); a != b {
			t.Errorf("as a whole it is\n%s\nin pieces\n%s", a, b)
		}
		endless := &modeltest.Pieces{Stream: string(stream), Rounds: 1 << 30}
		if len(stream) > 0 {
			e, err := ask(t, modelOf(endless, p), question())
			if read := endless.Past(); read*len(stream) > 2*fuzzLargest+len(stream) || len(e.text)+len(e.reasoning) > 4*fuzzLargest {
				t.Errorf("%d bytes were read of a stream without an end, %d shown: %v", read*len(stream), len(e.text)+len(e.reasoning), err)
			}
		}
		if err != nil {
			var e *model.Error
			if !errors.As(err, &e) || e.Message == "" || e.Fault == "" || strings.ContainsAny(e.Message, "\r\n\x1b\x00") {
				t.Errorf("%T %q", err, err)
			}
			return
		}
		for _, b := range h.answer.Blocks {
			if b.Opaque != nil && !json.Valid(b.Opaque) {
				t.Errorf("what is kept is not JSON: %s", b.Opaque)
			}
			if h.answer.Stop == journal.AnswerRefuse && b.Kind == journal.BlockCall {
				t.Error("a refused answer has calls")
			}
		}
		if h.answer.Stop == "" {
			t.Error("an answer that says not how it ended")
		}
		if _, err := ask(t, modelOf(whole, p), journaled(t, follow(question(), h.answer, 1))); err != nil {
			t.Errorf("the answer cannot be sent back: %v", err)
		}
		if !json.Valid(whole.Sent) {
			t.Errorf("the request with it is not JSON: %s", whole.Sent)
		}
	})
}
