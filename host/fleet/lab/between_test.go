package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// A run that is cancelled while its driver comes up is cancelled on record too, and starts nothing
// behind that. Promise 7.
func TestACancelAsADriverComesUp(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.StartEngine()
	comes := filepath.Join(l.Dir, "comes")
	h := l.Host("h-01", "--agent", l.AgentBehind(`[ "$1" != __drive ] || { : > `+comes+`; sleep 2; }`))
	id := l.Begin("comes", []string{"true", "sleep 1", "true", "sleep 1", "true"})
	if !lab.Wait(time.Minute, func() bool { _, err := os.Stat(comes); return err == nil }) {
		t.Fatal("no driver came up")
	}
	l.Do("cancel", id)
	before := l.Effects("comes")
	h.UntilLeft(id)
	if out := h.Agent("ls", "--all"); !strings.Contains(out, "cancelled") {
		t.Errorf("on record at its host:\n%s", out)
	}
	if after := l.Effects("comes"); len(after) != len(before) {
		t.Errorf("behind the cancel it did %v, before %v", after, before)
	}
}

// A worker that looks at a run while its driver goes on takes nothing that the driver recorded
// meanwhile for the work of another host. Promise 11.
func TestADriverGoesOnWhileItIsLookedAt(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01", "--agent", l.AgentBehind(`[ "$1" != show ] || { out=$("$agent" "$@"); code=$?; sleep 1; printf '%s\n' "$out"; exit $code; }`))
	steps := slices.Repeat([]string{"sleep 0.2"}, 40)
	id := l.InStep(3, "looked", steps)
	h.KillWorker()
	if line := h.Start(); !strings.Contains(line, "adopted 1 run with a living driver") {
		t.Error(line)
	}
	if r := l.Until(id, "completed", 2*time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	var all []int
	for i := range steps {
		all = append(all, i+1)
	}
	l.Once("looked", all...)
}
