//go:build linux

package gitrepo_test

import (
	"os"
	"testing"
)

// whole says that everything is tried. Every case starts git a dozen times, so a plain go test
// tries some of each kind.
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// onlyWhole skips what a quick run leaves out.
func onlyWhole(t *testing.T) {
	t.Helper()
	if !whole() {
		t.Skip("left out of a quick run; all of it: AGENT_TESTS=whole go test ./tools/gitrepo")
	}
}
