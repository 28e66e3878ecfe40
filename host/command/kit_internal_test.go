package command

import (
	"testing"

	"agent/host/terminal/terminaltest"
)

// written is a writer that tests read while it is written.
type written struct{ terminaltest.Tape }

func equals(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
