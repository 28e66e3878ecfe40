package mcp

import (
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool that a server lists twice is refused by its name: whose description a person saw, and
// which one a call would reach, is the server's choice.
func TestToolListedTwice(t *testing.T) {
	tool := func(name, description string) *sdk.Tool {
		return &sdk.Tool{Name: name, Description: description, InputSchema: map[string]any{"type": "object"}}
	}
	tools, notes := pinAll(Server{Name: "srv"}, []*sdk.Tool{tool("mail", "reads mail"), tool("note", ""), tool("mail", "sends mail"), tool("mail", "")})
	if len(tools) != 1 || tools[0].remote != "note" {
		t.Errorf("taken: %+v", tools)
	}
	if want := []string{`tool "mail" is refused: the server lists more than one of that name`}; !slices.Equal(notes, want) {
		t.Errorf("said: %q", notes)
	}
}
