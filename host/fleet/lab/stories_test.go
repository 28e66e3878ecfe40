package lab_test

import (
	"os"
	"testing"
	"time"

	"agent/fleet/lab"
)

func TestMain(m *testing.M) {
	lab.Init()
	os.Exit(m.Run())
}

func TestARunGoesToItsEnd(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	l.Host("h-01")
	id := l.Begin("plain", []string{"true", "true", "true"})
	r := l.Until(id, "completed", time.Minute, lab.Run.Ended)
	if r.Status != "completed" || r.Host != "h-01" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("plain", 1, 2, 3)
}

func TestAQuestionIsAnsweredFromOutside(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	l.Host("h-01")
	id := l.Begin("ask", []string{"true", "?Publish", "true"})
	r := l.Until(id, "waiting", time.Minute, func(r lab.Run) bool { return r.Asked != nil })
	if errs, code := l.Answer(r.Asked.ID, "yes"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if errs, code := l.Answer(r.Asked.ID, "no"); code == 0 {
		t.Errorf("a second, other answer was taken: %s", errs)
	}
	if r = l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("ask", 1, 3)
}

func TestAKilledWorkerLeavesItsRunGoing(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("worker", []string{"true", "sleep 4", "true"})
	l.UntilEffect("worker", 2, time.Minute)
	h.KillWorker()
	t.Log(h.Start())
	if r := l.Until(id, "completed", 2*time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("worker", 1, 2, 3)
}

func TestAnUpgradedWorkerLeavesItsRunGoing(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("upgrade", []string{"true", "sleep 4", "true"})
	l.UntilEffect("upgrade", 2, time.Minute)
	h.StopWorker()
	t.Log(h.Start())
	if r := l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("upgrade", 1, 2, 3)
}

func TestAKilledDriverIsFollowedByAnother(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("driver", []string{"true", "sleep 3", "true"})
	l.UntilEffect("driver", 2, time.Minute)
	h.KillDriver(id)
	if r := l.Until(id, "completed", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("driver", 1, 2, 3)
}

func TestAKilledEngineComesBack(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	l.Host("h-01")
	id := l.Begin("engine", []string{"true", "sleep 6", "true"})
	l.UntilEffect("engine", 2, time.Minute)
	l.KillEngine()
	l.UntilEffect("engine", 3, time.Minute) // the driver goes on without it
	l.StartEngine()
	if r := l.Until(id, "completed", 2*time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("engine", 1, 2, 3)
}

func TestALostHostLosesAtMostOneCall(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("lost", []string{"true", "sleep 4", "true"}, "--away", "0")
	l.UntilEffect("lost", 2, time.Minute)
	h.Lose()
	other := l.Host("h-02")
	_ = other
	r := l.Until(id, "waiting or ended", 3*time.Minute, func(r lab.Run) bool { return r.Asked != nil || r.Ended() })
	t.Logf("%+v", r)
	if r.Host != "h-02" {
		t.Errorf("it is on %s", r.Host)
	}
	if r.Asked != nil { // a runbook asks whether to go on behind an unknown outcome
		if errs, code := l.Answer(r.Asked.ID, "yes"); code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		r = l.Until(id, "ended", time.Minute, lab.Run.Ended)
	}
	if r.Status != "completed" || r.Exit != 5 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("lost", 1, 2, 3)
}

func TestAKilledHostThatComesBackKeepsItsRun(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("reboot", []string{"true", "sleep 4", "true"})
	l.UntilEffect("reboot", 2, time.Minute)
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
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("both", []string{"true", "sleep 4", "true"})
	l.UntilEffect("both", 2, time.Minute)
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
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("asleep", []string{"true", "sleep 2", "true", "true"}, "--away", "0")
	l.UntilEffect("asleep", 2, time.Minute)
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
	l := lab.New(t)
	p := l.Postgres()
	l.StartEngine()
	l.Host("h-01")
	id := l.Begin("nolog", []string{"true", "sleep 3", "true"})
	l.UntilEffect("nolog", 2, time.Minute)
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
	l := lab.New(t)
	l.StartEngine()
	l.Host("h-01")
	id := l.Begin("moves", []string{"true", "sleep 5", "true", "sleep 5", "true"})
	l.UntilEffect("moves", 2, time.Minute)
	l.Host("h-02")
	if errs, code := l.Move(id, "--to", "h-02"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	l.UntilEffect("moves", 4, time.Minute)
	if errs, code := l.Move(id, "--to", "h-01"); code != 0 { // and back
		t.Fatalf("exit %d: %s", code, errs)
	}
	r := l.Settle(id, 2*time.Minute)
	if r.Status != "completed" || r.Host != "h-01" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("moves", 1, 2, 3, 4, 5)
}

func TestACancelledRunOfALostHostCanStartNothing(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01")
	id := l.Begin("cancel", []string{"true", "sleep 5", "true"})
	l.UntilEffect("cancel", 2, time.Minute)
	h.Freeze()
	l.Host("h-02")
	if errs, code := l.Cancel(id); code != 0 && code != 4 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	l.Until(id, "cancelled", 3*time.Minute, func(r lab.Run) bool { return r.Status == "cancelled" })
	h.Thaw()
	if !l.Stays("cancel", 3, 15*time.Second) {
		t.Error("it started something after its end")
	}
}

func TestADrainedHostHasNoRun(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	l.Host("h-01")
	id := l.Begin("drain", []string{"true", "sleep 5", "true"})
	l.UntilEffect("drain", 2, time.Minute)
	l.Host("h-02")
	if errs, code := l.Drain("h-01", "--within", "110s"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
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
