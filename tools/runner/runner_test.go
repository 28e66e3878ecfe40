package runner_test

import (
	"strings"
	"testing"

	"agent/tools/runner"
)

// The folder of a call is read back to the call that it was made for.
func TestIdentityOf(t *testing.T) {
	id := runner.Identity{Run: "r-7k2m9qx4", Turn: 12, Index: 3, Attempt: 2}
	if got, ok := runner.IdentityOf(id.Folder("/state/calls")); !ok || got != id {
		t.Errorf("read %+v %t", got, ok)
	}
	for _, other := range []string{"/state/calls/r-1/x", "/state/calls/r-1/1-2", "/state/calls/r-1/a-b-c"} {
		if _, ok := runner.IdentityOf(other); ok {
			t.Errorf("%s is taken for a call's folder", other)
		}
	}
}

// Who cannot have a command here reads what to do instead.
func TestUnsupportedSaysWhatToDo(t *testing.T) {
	for _, hint := range []string{"Linux", "macOS", "WSL"} {
		if !strings.Contains(runner.ErrUnsupported.Error(), hint) {
			t.Errorf("%q does not name %s", runner.ErrUnsupported, hint)
		}
	}
}
