package db

import (
	"encoding/json"
	"testing"

	"agent/recovery/journal"
)

// One key per lineage: the calls of a fork, and of a fork of that, are recognised with the key of
// the thread that they come from; those of any other thread are not.
func TestForksShareTheKey(t *testing.T) {
	s := openStore(t, stateDir(t))
	made := func(run, thread string, from *journal.Position) {
		t.Helper()
		c := createdFact(run, thread)
		c.From = from
		if _, err := s.Create(t.Context(), ThreadRef{ID: thread, Folder: c.Folder, New: true}, events(c, journal.RunClaimed{Epoch: 1})); err != nil {
			t.Fatal(err)
		}
	}
	of := func(thread string) string {
		t.Helper()
		fp, err := s.Fingerprint(thread, "shell", json.RawMessage(`{"command":"git push"}`))
		if err != nil {
			t.Fatal(err)
		}
		return fp
	}
	made("r-1", "t-1", nil)
	made("r-2", "t-2", &journal.Position{Run: "r-1"})
	made("r-3", "t-3", &journal.Position{Run: "r-2"})
	made("r-4", "t-4", nil)
	if first := of("t-1"); of("t-2") != first || of("t-3") != first || of("t-4") == first {
		t.Errorf("fingerprints: %s of the thread, %s and %s of its forks, %s of another", first, of("t-2"), of("t-3"), of("t-4"))
	}
}
