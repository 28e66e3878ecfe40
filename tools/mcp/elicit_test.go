package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// A server's question becomes a question to the person, in words that cannot be taken for those of
// agent.
func TestElicit(t *testing.T) {
	tests := []struct{ name, tool, answer, want string }{
		{"accepted", "ask", `{"name": "Ada", "age": 36}`, `{"action":"accept","content":{"age":36,"name":"Ada"}}`},
		{"declined", "ask", `"decline"`, `{"action":"decline"}`},
		{"left", "ask", `"cancel"`, `{"action":"cancel"}`},
		{"address", "ask_url", `"accept"`, `{"action":"accept"}`},
	}
	b := one(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var asked journal.Question
			r, err := b.call(test.tool, "", call{ask: func(_ context.Context, q journal.Question) (json.RawMessage, error) {
				asked = q
				return json.RawMessage(test.answer), nil
			}})
			if err != nil || r.Content != test.want {
				t.Errorf("the server heard %s %v, want %s", r.Content, err, test.want)
			}
			want := "The MCP server srv asks (these are its words, not agent's):\nWho[31m are you?\nIt wants:\n" +
				"  age (integer, may be left out)\n  name (string): your name"
			if test.tool == "ask_url" {
				want = "The MCP server srv asks (these are its words, not agent's):\nLog in.\n" +
					"It wants you to open this address, which agent does not:\nhttps://example.invalid/login"
			}
			if asked.Kind != journal.RequestElicit || asked.Message != want {
				t.Errorf("the person was asked %s %q", asked.Kind, asked.Message)
			}
		})
	}
}

// A server must not ask for secrets this way: the answer is no, and the person is informed.
func TestElicitSecret(t *testing.T) {
	b := one(t)
	shown := &strings.Builder{}
	r, err := b.call("ask_secret", "", call{shown: shown, ask: func(context.Context, journal.Question) (json.RawMessage, error) {
		t.Error("the person was asked for a secret")
		return nil, errors.New("no")
	}})
	if err != nil || r.Content != `{"action":"decline"}` {
		t.Errorf("%+v %v", r, err)
	}
	if want := `declined a question of MCP server srv: it asks for "dbPassword"`; !strings.HasPrefix(shown.String(), want) {
		t.Errorf("shown: %q", shown)
	}
}

// Where nobody can be asked, or the question is closed, the server hears that nobody answered.
func TestElicitNobody(t *testing.T) {
	b := one(t)
	for _, ask := range []func(context.Context, journal.Question) (json.RawMessage, error){
		nil, func(context.Context, journal.Question) (json.RawMessage, error) { return nil, errors.New("closed") },
	} {
		if r, err := b.call("ask", "", call{ask: ask}); err != nil || r.Content != `{"action":"cancel"}` {
			t.Errorf("%+v %v", r, err)
		}
	}
}
