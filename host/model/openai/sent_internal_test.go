package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"agent/host/model"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

func textMessage(role journal.Role, text string) journal.Message {
	return journal.Message{Role: role, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}
}

// drawn is a conversation with answers that say nothing and messages of the person's in a row.
func drawn(t *rapid.T) []journal.Message {
	var out []journal.Message
	for i, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"person", "said", "call", "nothing"}), 1, 12).Draw(t, "messages") {
		switch kind {
		case "person":
			out = append(out, textMessage(journal.RoleUser, fmt.Sprint("q", i)))
		case "said":
			out = append(out, textMessage(journal.RoleAssistant, fmt.Sprint("a", i)))
		case "nothing":
			out = append(out, journal.Message{Role: journal.RoleAssistant})
		case "call":
			id := fmt.Sprint("c-", i)
			out = append(out, journal.Message{Role: journal.RoleAssistant, Blocks: []journal.Block{
				{Kind: journal.BlockCall, Call: &journal.CallBlock{ID: id, Tool: "f", Args: json.RawMessage(`{}`)}},
			}}, journal.Message{Role: journal.RoleTool, Blocks: []journal.Block{
				{Kind: journal.BlockResult, Result: &journal.ResultBlock{ID: id, Outcome: journal.OutcomeOK, Text: "r"}},
			}})
		}
	}
	return out
}

// What is kept of one request for the next changes no byte, whatever follows what.
func TestWhatIsKeptChangesNoByte(t *testing.T) {
	for _, p := range []Protocol{Chat, Responses} {
		seed.Rapid(t)
		rapid.Check(t, func(t *rapid.T) {
			encode := func(c *client, req model.Request) ([]byte, error) {
				if p == Chat {
					return c.chatBody(req)
				}
				return c.responsesBody(req)
			}
			o := Options{Model: "m", Protocol: p}
			c, all := &client{o: o}, drawn(t)
			for range rapid.IntRange(2, 8).Draw(t, "requests") {
				req := model.Request{System: rapid.SampledFrom([]string{"", "S", "S", "S"}).Draw(t, "system")}
				req.Messages = append(req.Messages, all[:rapid.IntRange(1, len(all)).Draw(t, "length")]...)
				if at := rapid.IntRange(-3, len(req.Messages)-1).Draw(t, "changed"); at >= 0 {
					req.Messages[at] = textMessage(journal.RoleUser, "changed")
				}
				want, err := encode(&client{o: o}, req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := encode(c, req)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%v:\n%s\n%s", err, got, want)
				}
			}
		})
	}
}
