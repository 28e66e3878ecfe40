//go:build linux && !portable

package sandbox_test

import (
	"os"
	"testing"
)

// whole says that everything is tried. Every trial starts a confined shell, so a plain go test does
// not repeat them all in each setting.
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// onlyWhole skips what a quick run leaves out.
func onlyWhole(t *testing.T) {
	t.Helper()
	if !whole() {
		t.Skip("left out of a quick run; all of it: AGENT_TESTS=whole go test ./tools/sandbox")
	}
}
