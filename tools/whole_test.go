package tools

import (
	"os"
	"testing"
)

// whole says that everything is tried. A plain go test keeps to some of the cases that start processes, and to fewer random ones.
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// onlyWhole skips what a quick run leaves out.
func onlyWhole(t *testing.T) {
	t.Helper()
	if !whole() {
		t.Skip("left out of a quick run; all of it: AGENT_TESTS=whole go test ./tools")
	}
}
