package lab_test

import (
	"testing"
	"time"

	"agent/fleet/lab"
)

// parted is a fleet of two hosts on a network, with a run that acts on the first.
func parted(t *testing.T, name string, patience time.Duration) (l *lab.Lab, n *lab.Network, h *lab.Host, id string) {
	l = lab.New(t)
	l.Patience(patience)
	n = l.Network()
	l.PostgresAt(n.Log())
	l.StartEngine()
	h = n.Host("h-01")
	id = l.InStep(2, name, []string{"true", "sleep 3", "true", "sleep 3", "true"}, "--away", "0")
	return l, n, h, id
}

// The host has the log and not the engine: its run goes elsewhere, and it is fenced.
func TestAHostWithoutTheEngineIsFenced(t *testing.T) {
	l, n, h, id := parted(t, "engineless", 10*time.Minute)
	n.Cut(h, n.Engine())
	n.Host("h-02")
	r := l.Settle(id, 4*time.Minute)
	n.Heal(h, n.Engine())
	if r.Status != "completed" || len(r.Unknown) > 1 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("engineless", 1, 2, 3, 4, 5)
}

// The host has the engine and not the log: no effect begins there.
func TestAHostWithoutTheLogWaits(t *testing.T) {
	l, n, h, id := parted(t, "logless", 10*time.Minute)
	n.Cut(h, n.Log())
	if !l.Stays("logless", 3, 15*time.Second) {
		t.Error("an effect began without the log")
	}
	n.Heal(h, n.Log())
	r := l.Settle(id, 4*time.Minute)
	if r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("logless", 1, 2, 3, 4, 5)
}

// The host has neither: it stops, and the run goes on elsewhere.
func TestAHostAloneStops(t *testing.T) {
	l, n, h, id := parted(t, "alone", 10*time.Minute)
	n.Cut(h, n.Engine())
	n.Cut(h, n.Log())
	n.Host("h-02")
	r := l.Settle(id, 4*time.Minute)
	if r.Status != "completed" || r.Host != "h-02" || len(r.Unknown) > 1 {
		t.Errorf("it ended as %+v", r)
	}
	n.Heal(h, n.Engine())
	n.Heal(h, n.Log())
	l.Once("alone", 1, 2, 3, 4, 5)
	l.Stays("alone", 6, 15*time.Second) // time for what it must not do
	l.Once("alone", 1, 2, 3, 4, 5)
}

// What the host sends arrives, and no answer comes back: appends are stored whose acknowledgement
// is lost.
func TestADeafHost(t *testing.T) {
	l, n, h, id := parted(t, "deaf", 10*time.Minute)
	n.Deafen(h)
	n.Host("h-02")
	l.Stays("deaf", 6, 10*time.Second)
	n.Hear(h)
	r := l.Settle(id, 4*time.Minute)
	if r.Status != "completed" || len(r.Unknown) > 1 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("deaf", 1, 2, 3, 4, 5)
}
