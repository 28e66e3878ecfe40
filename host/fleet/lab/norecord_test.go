package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// The host is gone, and so is the log: the run is not begun again, and a person hears that anything
// may have happened.
func TestARunWithoutARecordIsParked(t *testing.T) {
	t.Parallel()
	l, h := lab.OneHost(t)
	id := l.InStep(2, "norecord", []string{"true", "sleep 60", "true"}, "--away", "0")
	l.Until(id, "known to have begun", time.Minute, func(r lab.Run) bool { return r.Progress != nil && r.Progress.Log > 0 })
	h.Lose()
	logs, err := filepath.Glob(l.Dir + "/log/*")
	if err != nil || len(logs) == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	for _, path := range logs {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	l.Host("h-02")
	for range 2 { // a person who has it go on changes nothing
		r := l.Until(id, "parked", 2*time.Minute, func(r lab.Run) bool { return r.Status == "parked" })
		if r.Exit != 4 || !strings.Contains(r.Reason, "no record of it is left, so anything may have happened; a new run takes another key") {
			t.Errorf("it is %+v", r)
		}
		l.Do("resume", id)
	}
	if errs, code := l.Try("cancel", id); code != 0 && code != 6 {
		t.Errorf("exit %d: %s", code, errs)
	}
	if r := l.Until(id, "cancelled", time.Minute, lab.Run.Ended); !strings.Contains(r.Text, "anything may have happened") {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("norecord", 1, 2)
	if n := len(l.Effects("norecord")); n != 2 {
		t.Errorf("it went on: %v", l.Effects("norecord"))
	}
}

// A worker without a log takes runs that only read. Where its host is lost, they are parked.
func TestAWorkerWithoutALog(t *testing.T) {
	t.Parallel()
	l := lab.New(t)
	l.StartEngine()
	l.LogURL = "none"
	h := l.Host("h-01")
	acts := l.Begin("acts", []string{"true"})
	r := l.Until(acts, "refused", time.Minute, func(r lab.Run) bool { return strings.Contains(r.Reason, "h-01: it has no log") })
	if r.Status != "queued" {
		t.Errorf("it is %+v", r)
	}
	book := l.Book("reads", lab.Runbook+"# reads\n\n- ask_user \"Which?\"\n\n- list_dir .\n")
	start := func(key string) string {
		r, errs, code := l.Ask(book, "--key", key, "--mode", "plan", "--away", "0")
		if r.ID == "" {
			t.Fatalf("exit %d: %s", code, errs)
		}
		return r.ID
	}
	first, second := start("first"), start("second")
	one := l.Until(first, "waiting", time.Minute, lab.Run.Asks)
	l.Do("answer", one.Asked.ID, "this")
	if r := l.Until(first, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	two := l.Until(second, "waiting", time.Minute, lab.Run.Asks)
	if text := l.Do("doctor"); !strings.Contains(text, "1 of them without a log") {
		t.Errorf("agent-fleet doctor says %s", text)
	}
	h.Lose()
	l.Host("h-02")
	l.Do("move", second, "--host-is-gone")
	l.Do("answer", two.Asked.ID, "this")
	r = l.Until(second, "parked", 3*time.Minute, func(r lab.Run) bool { return r.Status == "parked" })
	if !strings.Contains(r.Reason, "no record of it is left; it only read") {
		t.Errorf("it is %+v", r)
	}
	if n := len(l.Effects("acts")); n != 0 {
		t.Errorf("a run that may act went there: %v", l.Effects("acts"))
	}
}
