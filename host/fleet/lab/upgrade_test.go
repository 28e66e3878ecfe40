package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// The program agent is replaced while a driver lives, and its worker is started again: the same
// driver brings the run to its end, and the next run has the new program.
func TestAnUpgradedAgentLeavesItsRunGoing(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	path := filepath.Join(l.Dir, "agent")
	install := func(more string) {
		b, err := os.ReadFile(l.Agent)
		if err == nil {
			err = os.WriteFile(path+".new", append(b, more...), 0o700)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	install("")
	l.StartEngine()
	h := l.Host("h-01", "--agent", path)
	id := l.InStep(2, "replaced", []string{"true", "sleep 8", "true"})
	install("another one")
	h.StopWorker()
	if text := h.Start(); !strings.Contains(text, "adopted 1 run with a living driver") {
		t.Errorf("it says %s", text)
	}
	if r := l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	if n := h.Facts(id)["run.claimed"]; n != 1 {
		t.Errorf("%d drivers claimed it", n)
	}
	l.Once("replaced", 1, 2, 3)
	later := l.Begin("later", []string{"true"})
	if r := l.Until(later, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
}

// A command that does not end is left behind by a drain after a while: its outcome is unknown, and
// a person decides on it. The host has no run in time.
func TestADrainDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	id := l.InStep(2, "endless", []string{"true", "sleep 612", "true"})
	l.Host("h-02")
	l.Do("drain", "h-01", "--within", "115s")
	r := l.Settle(id, time.Minute)
	if r.Status != "completed" || r.Exit != 5 || r.Host != "h-02" || len(r.Unknown) != 1 {
		t.Errorf("it ended as %+v", r)
	}
	if !lab.Wait(30*time.Second, func() bool { return h.Runs("sleep 612") == 0 }) {
		t.Error("its command goes on on the drained host")
	}
	l.Once("endless", 1, 2, 3)
}
