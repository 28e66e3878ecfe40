package anthropic

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"agent/host/model"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// encode writes a request as the first of its conversation.
func encode(name string, req model.Request) (encoded, error) {
	return (&encoder{name: name}).encode(req)
}

// What is kept of one request for the next changes no byte, whatever follows what: a longer
// conversation, a shorter one, the same with other messages or another system prompt.
func TestWhatIsKeptChangesNoByte(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"claude-opus-5-5", "claude-opus-4-6", "claude-haiku-4-5", "local"}).Draw(t, "model")
		e := &encoder{name: name}
		s := drawStory(t, 12)
		for range rapid.IntRange(2, 8).Draw(t, "requests") {
			req := model.Request{System: rapid.SampledFrom([]string{"S", "S", "S", "T"}).Draw(t, "system"), Effort: journal.EffortLow}
			req.Messages = s.upTo(rapid.IntRange(1, len(s.messages)).Draw(t, "messages"))
			if at := rapid.IntRange(-3, len(req.Messages)-1).Draw(t, "changed"); at >= 0 { // a result was shortened, a message added
				req.Messages[at] = user("changed")
			}
			want, err := encode(name, req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.encode(req)
			if err != nil || !bytes.Equal(got.body, want.body) || got.prefix != want.prefix {
				t.Fatalf("%v:\n%s\n%s", err, got.body, want.body)
			}
		}
	})
}

// A request that goes on writes its new messages only.
func TestALongConversationIsKept(t *testing.T) {
	e := &encoder{name: "local"}
	var messages []journal.Message
	for n := range 3 {
		messages = append(messages, user("q"), said(call("c-1", `{}`)), results(result("c-1", "ok", "r")))
		if _, err := e.encode(model.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		if len(e.messages) != 3*n+2 {
			t.Errorf("%d messages are kept of %d", len(e.messages), len(messages))
		}
	}
}
