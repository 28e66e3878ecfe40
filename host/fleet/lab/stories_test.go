package lab_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"agent/fleet/lab"
)

func TestMain(m *testing.M) {
	lab.Init()
	if err := lab.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestARunGoesToItsEnd(t *testing.T) {
	l, _ := lab.OneHost(t)
	id := l.Begin("plain", []string{"true", "true", "true"})
	r := l.Until(id, "completed", time.Minute, lab.Run.Ended)
	if r.Status != "completed" || r.Host != "h-01" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("plain", 1, 2, 3)
}

func TestAQuestionIsAnsweredFromOutside(t *testing.T) {
	l, _ := lab.OneHost(t)
	id := l.Begin("ask", []string{"true", "?Publish", "true"})
	r := l.Until(id, "waiting", time.Minute, lab.Run.Asks)
	l.Do("answer", r.Asked.ID, "yes")
	if errs, code := l.Try("answer", r.Asked.ID, "no"); code == 0 {
		t.Errorf("a second, other answer was taken: %s", errs)
	}
	if r = l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("ask", 1, 3)
}

func TestAKilledWorkerLeavesItsRunGoing(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "worker", []string{"true", "sleep 4", "true"})
	h.KillWorker()
	t.Log(h.Start())
	if r := l.Until(id, "completed", 2*time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("worker", 1, 2, 3)
}

func TestAnUpgradedWorkerLeavesItsRunGoing(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "upgrade", []string{"true", "sleep 4", "true"})
	h.StopWorker()
	t.Log(h.Start())
	if r := l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("upgrade", 1, 2, 3)
}

func TestAKilledDriverIsFollowedByAnother(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "driver", []string{"true", "sleep 3", "true"})
	h.KillDriver(id)
	if r := l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("driver", 1, 2, 3)
}

func TestAKilledEngineComesBack(t *testing.T) {
	l, _ := lab.OneHost(t)
	id := l.InStep(2, "engine", []string{"true", "sleep 6", "true"})
	l.KillEngine()
	l.UntilEffect("engine", 3, time.Minute) // the driver goes on without it
	l.StartEngine()
	if r := l.Until(id, "completed", 2*time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("engine", 1, 2, 3)
}

func TestALostHostLosesAtMostOneCall(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "lost", []string{"true", "sleep 4", "true"}, "--away", "0")
	h.Lose()
	l.Host("h-02")
	r := l.Until(id, "waiting or ended", 3*time.Minute, lab.Run.Rests)
	t.Logf("%+v", r)
	if r.Host != "h-02" {
		t.Errorf("it is on %s", r.Host)
	}
	if r.Asks() { // a runbook asks whether to go on behind an unknown outcome
		l.Do("answer", r.Asked.ID, "yes")
		r = l.Until(id, "ended", time.Minute, lab.Run.Ended)
	}
	if r.Status != "completed" || r.Exit != 5 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("lost", 1, 2, 3)
}

func TestAKilledHostThatComesBackKeepsItsRun(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "reboot", []string{"true", "sleep 4", "true"})
	h.PowerOff()
	h.Boot()
	t.Log(h.Start())
	r := l.Settle(id, 3*time.Minute)
	if r.Status != "completed" || r.Host != "h-01" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("reboot", 1, 2, 3)
}

func TestAKilledWorkerAndDriver(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "both", []string{"true", "sleep 4", "true"})
	h.KillWorker()
	h.KillDriver(id)
	t.Log(h.Start())
	if r := l.Settle(id, 3*time.Minute); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("both", 1, 2, 3)
}

// A host that sleeps while its run moves on finds out when it wakes up, and starts nothing.
func TestASleepingHostIsFenced(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "asleep", []string{"true", "sleep 2", "true", "true"}, "--away", "0")
	h.Freeze()
	l.Host("h-02")
	r := l.Settle(id, 3*time.Minute)
	if r.Status != "completed" || r.Host != "h-02" {
		t.Errorf("it ended as %+v", r)
	}
	h.Thaw()
	if !l.Gone(h, id, time.Minute) {
		t.Errorf("the copy on %s is not over", h.Name)
	}
	l.Once("asleep", 1, 2, 3, 4)
}

// The log cannot be reached: no effect begins. When it is back, the run goes on.
func TestWithoutItsLogNoEffectBegins(t *testing.T) {
	for name, begin := range map[string]func(l *lab.Lab) store{
		"postgres": func(l *lab.Lab) store { return l.Postgres() },
		"bucket":   func(l *lab.Lab) store { return l.Bucket() },
	} {
		t.Run(name, func(t *testing.T) { outage(t, begin) })
	}
}

// store is a server that holds the log.
type store interface {
	Start()
	Stop() // as a crash does
}

func outage(t *testing.T, begin func(l *lab.Lab) store) {
	l := lab.New(t)
	p := begin(l)
	l.StartEngine()
	l.Host("h-01")
	id := l.InStep(2, "nolog", []string{"true", "sleep 3", "true"})
	p.Stop()
	if !l.Stays("nolog", 3, 15*time.Second) {
		t.Error("an effect began without the log")
	}
	p.Start()
	if r := l.Settle(id, 3*time.Minute); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("nolog", 1, 2, 3)
}

func TestARunMoves(t *testing.T) {
	l, _ := lab.OneHost(t)
	id := l.InStep(2, "moves", []string{"true", "sleep 5", "true", "sleep 5", "true"})
	l.Host("h-02")
	l.Do("move", id, "--to", "h-02")
	l.UntilEffect("moves", 4, time.Minute)
	l.Do("move", id, "--to", "h-01") // and back
	r := l.Settle(id, 2*time.Minute)
	if r.Status != "completed" || r.Host != "h-01" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("moves", 1, 2, 3, 4, 5)
}

func TestACancelledRunOfALostHostCanStartNothing(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "cancel", []string{"true", "sleep 5", "true"})
	h.Freeze()
	l.Host("h-02")
	if errs, code := l.Try("cancel", id); code != 0 && code != 4 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	l.Until(id, "cancelled", 3*time.Minute, func(r lab.Run) bool { return r.Status == "cancelled" })
	h.Thaw()
	if !l.Stays("cancel", 3, 15*time.Second) {
		t.Error("it started something after its end")
	}
}

func TestADrainedHostHasNoRun(t *testing.T) {
	l, _ := lab.OneHost(t)
	id := l.InStep(2, "drain", []string{"true", "sleep 5", "true"})
	l.Host("h-02")
	l.Do("drain", "h-01", "--within", "110s")
	r := l.Settle(id, time.Minute)
	if r.Status != "completed" || r.Exit != 0 || r.Host != "h-02" {
		t.Errorf("it ended as %+v", r)
	}
	later := l.Begin("after", []string{"true"})
	if r := l.Settle(later, time.Minute); r.Host != "h-02" {
		t.Errorf("a drained host took a run: %+v", r)
	}
	l.Once("drain", 1, 2, 3)
}
