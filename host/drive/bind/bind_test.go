package bind

import (
	"strings"
	"testing"
)

// A yes that is void is said to be so with what changed.
func TestBindingChanges(t *testing.T) {
	now := "call.folder.mode.env.level.rules.tools"
	for then, want := range map[string]string{
		now:                                      "",
		"call.folder.mode.env.level.RULES.tools": "the rules changed",
		"call.FOLDER.mode.env.LEVEL.rules.tools": "the folder, what the system confines it to changed",
		strings.Repeat("0", 32):                  "it was given to another version of agent",
	} {
		if got := Changes(then, now); got != want {
			t.Errorf("%s: %q, want %q", then, got, want)
		}
	}
}
