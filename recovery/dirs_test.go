package recovery

import (
	"testing"

	"agent/recovery/journal"
)

// Folders that another machine named are not reached here: a run that came in a pack has none but
// its workspace. One that was restored from a copy of this store keeps them. // issue 17, part 4
func TestFoldersOfAnotherMachine(t *testing.T) {
	for pack, want := range map[string]int{"m-1": 0, "": 1} {
		s := &State{}
		follow(t, s,
			journal.RunCreated{Run: "r-1", Thread: "t-1", Mode: journal.ModeAuto, Terms: journal.Terms{Rules: "x", Dirs: []journal.Dir{{Path: "/"}}}},
			journal.RunClaimed{Epoch: 1},
			journal.RunRestored{Reason: "it came here", Pack: pack},
			journal.RunRestored{Reason: "a copy was put back"},
		)
		if got := s.Created.Terms.Below(); len(got.Dirs) != want || got.Rules != "x" {
			t.Errorf("pack %q: %+v", pack, got)
		}
	}
}
