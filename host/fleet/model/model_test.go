package model_test

import (
	"testing"

	"agent/fleet/model"
)

// In 25,898 states, drivers that append the start of a call before they act do nothing twice. The
// three rules that look as if they did the same are found wrong, so the walk can find it.
func TestEveryInterleaving(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   model.Variant
		twice  bool
		states int
	}{
		{"the effect, then the log", model.Async, true, 1599},
		{"a lease that is looked at", model.Lease, true, 1828},
		{"a start without a condition", model.Plain, true, 5732},
		{"a start by compare-and-append", model.Append, false, 25898},
	} {
		r := model.Explore(c.rule)
		t.Logf("%s: %d states, twice: %v %s", c.name, r.States, r.Twice, r.Log)
		if r.Twice != c.twice {
			t.Errorf("%s: twice: %v, and it should be %v", c.name, r.Twice, c.twice)
		}
		if r.States != c.states {
			t.Errorf("%s: %d states were seen, and %d by the model that this one follows", c.name, r.States, c.states)
		}
		if !c.twice && r.Ends["111"] == 0 {
			t.Errorf("%s: no driver came to the end with every effect done: %v", c.name, r.Ends)
		}
	}
}
