package lab_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// The clock of a host is set by an hour, ahead and back, while its worker and its drivers go on,
// and theirs too. Nothing moves, nothing is unknown, and what is asked of the host it does in time.
func TestTheClockOfAHostIsSet(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.OwnClocks()
	l.StartEngine()
	h := l.Host("h-01", "--agent", l.FaultyAgent())
	l.Arm("call.after_started:1:clock+1h", 1)
	id := l.InStep(2, "clock", []string{"true", "sleep 30", "?Go on", "true", "sleep 3"}, "--away", "30s")
	l.Host("h-02")
	h.SetClock(time.Hour)
	r := l.Until(id, "waiting", 2*time.Minute, lab.Run.Asks)
	h.SetClock(-time.Hour)
	l.Arm("call.after_started:1:clock-1h", 1)
	l.Do("answer", r.Asked.ID, "yes")
	if r = l.Until(id, "ended", 2*time.Minute, lab.Run.Rests); r.Status != "completed" || r.Exit != 0 || r.Host != "h-01" {
		t.Errorf("it ended as %+v", r)
	}
	if n := h.Facts(id)["run.claimed"]; n != 2 {
		t.Errorf("%d drivers claimed it", n)
	}
	l.Once("clock", 1, 2, 4, 5)
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		h.SetClock(ahead)
		home := filepath.Join(l.Dir, "other")
		if text, code := h.Refused("--home", home, "--work", home+"-work"); code != 1 || !strings.Contains(text, "another worker is named h-01") {
			t.Errorf("%s: exit %d: %s", ahead, code, text)
		}
	}
	h.SetClock(time.Hour)
	id = l.Begin("named", []string{"true", "?Go on", "true"})
	r = l.Until(id, "waiting", time.Minute, lab.Run.Asks)
	to := "h-01"
	if r.Host == to {
		to = "h-02"
	}
	for range 2 { // there and back
		l.Do("move", id, "--to", to)
		to = map[string]string{"h-01": "h-02", "h-02": "h-01"}[to]
	}
	l.Do("answer", r.Asked.ID, "yes")
	if r = l.Until(id, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Do("drain", "h-01", "--within", "60s")
}
