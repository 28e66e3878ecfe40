package lab_test

import (
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// A driver sleeps where the start of its call is on record here and not in the log, or in the log
// and nothing was done. Its run goes on elsewhere meanwhile; when it wakes up, it starts nothing.
// The next host cannot tell the second case from a call that acts: it asks.
func TestADriverThatSleptStartsNothing(t *testing.T) {
	for point, x := range map[string]struct {
		unknown int
		done    []int
	}{
		"witness.before": {0, []int{1, 3, 4}},
		"witness.after":  {1, []int{1, 4}},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			l := lab.New(t)
			l.StartEngine()
			h := l.Host("h-01", "--agent", l.FaultyAgent())
			id := l.Begin("slept", []string{"true", "?Go on", "true", "true"}, "--away", "0")
			r := l.Until(id, "waiting", time.Minute, lab.Run.Asks)
			h.UntilLeft(id)
			l.Arm(point+":2:stop", 1) // its claim, and its first call
			l.Do("answer", r.Asked.ID, "yes")
			h.UntilStopped(id)
			h.Freeze()
			l.Host("h-02")
			r = l.Settle(id, 3*time.Minute)
			if r.Status != "completed" || r.Host != "h-02" || len(r.Unknown) != x.unknown {
				t.Errorf("it ended as %+v", r)
			}
			h.Thaw()
			if !l.Gone(h, id, time.Minute) {
				t.Errorf("the copy on %s is not over", h.Name)
			}
			l.Once("slept", x.done...)
			if n := len(l.Effects("slept")); n != len(x.done) {
				t.Errorf("it did %v", l.Effects("slept"))
			}
		})
	}
}

// A host that comes back after its run moved on ends what the run had started there, and says where
// the run is.
func TestAHostThatComesBackEndsItsCommands(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	id := l.InStep(2, "back", []string{"true", "sleep 611; echo late >> " + l.Dir + "/effects/late"}, "--away", "0")
	h.Freeze()
	next := l.Host("h-02")
	r := l.Settle(id, 3*time.Minute)
	if r.Status != "completed" || r.Host != "h-02" || len(r.Unknown) != 1 {
		t.Errorf("it ended as %+v", r)
	}
	if h.Thaw(); !l.Gone(h, id, time.Minute) {
		t.Errorf("the copy on %s is not over", h.Name)
	}
	if !lab.Wait(10*time.Second, func() bool { return h.Runs("sleep 611") == 0 }) {
		t.Error("its command goes on")
	}
	text := h.Agent("show", id)
	for _, want := range []string{"to host " + next.Name, "ended here: call 2.0 shell"} {
		if !strings.Contains(text, want) {
			t.Errorf("agent show does not say %q: %s", want, text)
		}
	}
	l.Once("back", 1, 2)
}
