package brief

import (
	"strings"
	"testing"
	"time"

	"agent/recovery"
	"agent/recovery/journal"
)

// Issue 16, rule R: the model hears that its run was restored, where it works now, and which files
// are not as it left them; of a run that moved with all its files nothing.
func TestNews(t *testing.T) {
	made := time.Date(2026, 3, 2, 3, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		s    recovery.State
		want []string
	}{
		{"nothing happened", recovery.State{}, nil},
		{"restored", recovery.State{Back: &journal.RunRestored{Made: made}}, []string{"restored from a copy of 2026-03-02 03:04 UTC", "A person is asked before"}},
		{"nothing after it", recovery.State{Back: &journal.RunRestored{Made: made, Nothing: true}}, nil},
		{"moved", recovery.State{Back: &journal.RunRestored{Nothing: true, Pack: "m-1", Folder: "/there"}}, []string{"works in /there from here on"}},
		{"behind", recovery.State{Behind: &journal.WorkspaceBehind{Folder: "/there", Files: []journal.BehindFile{{Path: "a.txt"}}, More: 2}}, []string{"not in /there as it left them: a.txt, and 2 more"}},
	} {
		c.s.Created.Setup.Provider = "chat"
		got := News(&c.s)
		if (len(got) == 0) != (len(c.want) == 0) {
			t.Errorf("%s: %v", c.name, got)
			continue
		}
		for _, want := range c.want {
			if m := got[0].(journal.MessageAdded); !strings.Contains(m.Text, want) || m.By != "agent" {
				t.Errorf("%s: %+v lacks %q", c.name, m, want)
			}
		}
	}
}

// What follows in such a thread hears it once, and the runs below it do not.
func TestFollows(t *testing.T) {
	c := journal.RunCreated{Setup: journal.Setup{Provider: "chat"}}
	if got := Follows(c); got != nil {
		t.Error(got)
	}
	c.Guarded = true
	if got := Follows(c); len(got) != 1 || !strings.Contains(got[0].(journal.MessageAdded).Text, "may have gone on elsewhere") {
		t.Error(got)
	}
	c.Root = "r-root"
	if got := Follows(c); got != nil {
		t.Error(got)
	}
}
