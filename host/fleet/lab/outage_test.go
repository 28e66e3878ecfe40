package lab_test

import (
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// The engine is away for longer than any of its timers. Drivers go on without it, what needs it
// fails and may be asked again, and at its return no run has moved.
func TestAnEngineThatIsAwayForLong(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	id := l.InStep(2, "long", []string{"true", "sleep 25", "true", "sleep 50", "true"}, "--away", "20s")
	l.Host("h-02") // it would take the run
	l.KillEngine()
	file := l.Book("later", lab.Runbook+"# later\n\n```sh\necho later.1 >> "+l.Dir+"/effects/later\n```\n")
	if _, errs, code := l.Ask(file, "--key", "later"); code != 1 || !strings.Contains(errs, l.Address()) {
		t.Errorf("a run was begun without the engine: exit %d: %s", code, errs)
	}
	if errs, code := l.Try("move", id); code != 1 {
		t.Errorf("a run was moved without the engine: exit %d: %s", code, errs)
	}
	if errs, code := l.Try("answer", "p-aaaa1111", "yes"); code != 1 {
		t.Errorf("a question was answered without the engine: exit %d: %s", code, errs)
	}
	l.UntilEffect("long", 4, time.Minute)
	if !l.Stays("long", 5, 40*time.Second) {
		t.Fatal("the engine was not away for long enough: the run has ended")
	}
	l.StartEngine()
	if r := l.Settle(id, 3*time.Minute); r.Status != "completed" || r.Exit != 0 || r.Host != "h-01" {
		t.Errorf("it ended as %+v", r)
	}
	if n := h.Facts(id)["run.claimed"]; n != 1 {
		t.Errorf("%d drivers claimed it", n)
	}
	l.Once("long", 1, 2, 3, 4, 5)
	again, errs, code := l.Ask(file, "--key", "later")
	if code != 0 || again.Existed {
		t.Errorf("the same start afterwards: %+v, exit %d: %s", again, code, errs)
	}
	l.Until(again.ID, "ended", time.Minute, lab.Run.Ended)
	l.Once("later", 1)
}

// The log is away for longer than a driver waits: the run is interrupted for that reason, tried
// again, and goes on when the log is back.
func TestALogThatIsAwayForLong(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.Patience(4 * time.Second)
	p := l.Postgres()
	l.StartEngine()
	h := l.Host("h-01")
	id := l.InStep(2, "logaway", []string{"true", "sleep 2", "true"})
	p.Stop()
	l.Until(id, "interrupted for its log", 2*time.Minute, func(r lab.Run) bool { return strings.Contains(r.Reason, "interrupted (log)") })
	if text := h.Agent("show", id); !strings.Contains(text, "interrupted (log)") {
		t.Errorf("agent show says %s", text)
	}
	p.Start()
	if r := l.Settle(id, 3*time.Minute); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("logaway", 1, 2, 3)
}

// A host that reaches the engine and not the log gives its run away.
func TestAHostWithoutTheLogGivesItsRunAway(t *testing.T) {
	t.Parallel()
	l, n, h, id := parted(t, "giveaway", 4*time.Second)
	n.Cut(h, n.Log())
	n.Host("h-02")
	r := l.Settle(id, 4*time.Minute)
	if r.Status != "completed" || r.Host != "h-02" || len(r.Unknown) > 1 {
		t.Errorf("it ended as %+v", r)
	}
	n.Heal(h, n.Log())
	l.Once("giveaway", 1, 2, 3, 4, 5)
}
