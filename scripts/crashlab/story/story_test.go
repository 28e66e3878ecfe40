//go:build linux

package story

import (
	"fmt"
	"testing"
)

// Each tool brings its own variants, and one that the lab does not know is named.
func TestCallsOf(t *testing.T) {
	names, unknown := CallsOf([]string{"shell", "search", "launch"})
	if fmt.Sprint(names, unknown) != "[mcp__lab__ask mcp__lab__count mcp__lab__look search shell shell:read shell:write] [launch]" {
		t.Error(names, unknown)
	}
}

// A tool without a line in the table has no story, with the reason.
func TestToolWithoutStory(t *testing.T) {
	if _, why := New("launch", "first", "chat", 1, "127.0.0.1:1"); why == "" {
		t.Error("there is a story about a tool that nobody knows")
	}
}
