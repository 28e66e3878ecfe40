package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"agent/host/model"
	"agent/host/model/openai"
	"agent/host/model/wire"
	"agent/recovery"
)

// FuzzStream feeds whatever a server may send. It is an answer or an error that a person can read; and an answer can be
// sent back.
func FuzzStream(f *testing.F) {
	for _, stream := range []string{story(), completed("completed", "", storyMessage, storyCallA), completed("incomplete", `{"reason":"max_output_tokens"}`, storyCallA), ev("error", `"message":"no"`)} {
		f.Add(true, []byte(stream))
	}
	for _, stream := range []string{
		talk(), chunks(tool(`{"function":{"name":"x","arguments":{"a":1}}}`), finish("length")), "data: {\"error\":{\"code\":429}}\n\n",
		chunks(delta(`"content":[{"text":"a"}],"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]`), finish("stop")),
	} {
		f.Add(false, []byte(stream))
	}
	f.Fuzz(func(t *testing.T, own bool, stream []byte) {
		p := openai.Chat
		if own {
			p = openai.Responses
		}
		base := &canned{stream: string(stream), end: io.EOF}
		m := openai.New(openai.Options{Model: "x", Protocol: p, HTTP: wire.Client(wire.Options{Base: base})})
		h, err := ask(t, m, question())
		if err != nil {
			var e *model.Error
			if !errors.As(err, &e) || e.Message == "" || e.Fault == "" {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		for _, b := range h.answer.Blocks {
			if b.Opaque != nil && !json.Valid(b.Opaque) {
				t.Errorf("what is kept is not JSON: %s", b.Opaque)
			}
			if h.answer.Stop == recovery.AnswerRefuse && b.Kind == recovery.BlockCall {
				t.Error("a refused answer has calls")
			}
		}
		if _, err := ask(t, m, journaled(t, follow(question(), h.answer, 1))); err != nil {
			t.Errorf("the answer cannot be sent back: %v", err)
		}
		if !json.Valid(base.sent) {
			t.Errorf("the request with it is not JSON: %s", base.sent)
		}
	})
}
