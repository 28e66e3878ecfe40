package brief

import (
	"strings"
	"testing"

	"agent/recovery"
	"agent/recovery/journal"
)

// The model of a run hears which folders it reaches beside its workspace; that of a runbook, which
// has no system prompt, does not. // issue 17, part 4
func TestFoldersBeside(t *testing.T) {
	s := &recovery.State{}
	s.Created.Dirs = []journal.Dir{{Path: "/lib"}, {Path: "/out", Write: true}}
	if got := System(s); got != "" {
		t.Errorf("without a prompt of its own: %q", got)
	}
	s.Created.Setup.System = "You work."
	got := System(s)
	for _, want := range []string{"You work.", "\n- /lib: read only\n", "\n- /out: read; write_file and edit_file also write there, and a person is asked\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	s.Created.Dirs = nil
	if got := System(s); got != "You work." {
		t.Errorf("without folders: %q", got)
	}
}
