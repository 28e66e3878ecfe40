package terminal

import (
	"agent/host/view"
)

// Commits lists commits with the runs whose work they hold.
func (t *Terminal) Commits(v view.Commits) {
	for _, n := range v.Notes {
		t.Say(t.Err, "note: %s", n)
	}
	for _, c := range v.Commits {
		t.commit(c)
	}
	if v.More {
		t.Say(t.Err, "there are older ones: agent log -n N")
	}
	if len(v.Off) > 0 {
		t.Say(t.Out, "on no branch:")
	}
	for _, c := range v.Off {
		t.commit(c)
	}
}

func (t *Terminal) commit(c view.Commit) {
	text := ""
	if c.Gone {
		text = "  (git does not have it any more)"
	}
	t.Say(t.Out, "%.9s %s%s", c.ID, c.Subject, text)
	for _, l := range c.Links {
		t.Say(t.Out, "          %s", l.Text())
	}
	for _, claim := range c.Claims {
		t.Say(t.Out, "          %s", claim.Text())
	}
}

// Why says where a line is from.
func (t *Terminal) Why(w view.Why) { t.Say(t.Out, "%s", w.Words()) }
