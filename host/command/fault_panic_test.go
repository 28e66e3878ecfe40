package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/recovery/fault"
)

// panickedRun is what the journal says of a run in which the host panicked.
type panickedRun struct {
	Run struct {
		Status string `json:"status"`
		Reason string `json:"stop_reason"`
	} `json:"run"`
	Calls []struct {
		Tool    string `json:"tool"`
		Phase   string `json:"phase"`
		Outcome string `json:"outcome"`
		Content string `json:"content"`
	} `json:"calls"`
	Facts []struct {
		Kind string `json:"kind"`
	} `json:"facts"`
}

// claims counts the processes that drove the run.
func (s panickedRun) claims() int {
	n := 0
	for _, f := range s.Facts {
		if f.Kind == "run.claimed" {
			n++
		}
	}
	return n
}

// outsideRuns are the points at which this process holds no run: it panics like any command, and no
// run ends by it.
func outsideRuns() []fault.Point {
	return append(providerPoints(), fault.Started, fault.AnswerRecorded, fault.BeforeMark)
}

// inTools are the points inside a tool: its call settles as far as can be known, and the run goes
// on.
func inTools() []fault.Point {
	return []fault.Point{fault.WriteTemp, fault.WriteRenamed, fault.RunnerStarted}
}

// A panic of the host, wherever it holds a run, ends the run as failed at once: every call is
// settled, none that never began is reported as unknown, and no result that came is lost. Before
// the claim is durable the run stays as it was. // Issue 11, A9
// EX-20.
func TestPanicAtEveryPoint(t *testing.T) {
	for _, p := range fault.Driving() {
		if slices.Contains(outsideRuns(), p) || strings.HasPrefix(string(p), "runner.") && p != fault.RunnerStarted {
			continue
		}
		t.Run(string(p), func(t *testing.T) {
			if !slices.Contains(quickPoints(), p) {
				onlyWhole(t)
			}
			t.Parallel()
			reached := 0
			for n := 1; n <= 2*passes() && panicked(t, p, n, []string{"run", "--runbook", "-f", "book.md"}); n++ {
				reached++
			}
			for n := 1; n <= passes() && panicked(t, p, n, []string{"answer", "last", "yes"}, ""); n++ {
				reached++
			}
			for n := 1; n <= passes() && panicked(t, p, n, []string{"resume", "last"}, string(fault.AfterStarted)+":4"); n++ {
				reached++
			}
			if reached == 0 {
				t.Error("no command passed the point")
			}
		})
	}
}

// panicked carries the story to the command, with one arm for each command before it, and has the
// command panic when it comes by the point for the n-th time. It says whether it did.
func panicked(t *testing.T, p fault.Point, n int, command []string, before ...string) bool {
	t.Helper()
	w, arm := newWorld(t), fmt.Sprintf("%s:%d:panic", p, n)
	for _, first := range before {
		w.agent(first, "run", "--runbook", "-f", "book.md")
	}
	claims := w.shown().claims()
	began := time.Now()
	w.log.Reset()
	code := w.agent(arm, command...)
	took := time.Since(began)
	if !strings.Contains(w.log.String(), "panic: fault point") && !strings.Contains(w.log.String(), "panicked: fault point") {
		return false
	}
	s := w.shown()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s, agent %s: %s\n%s", arm, strings.Join(command, " "), fmt.Sprintf(format, args...), w.log.String())
	}
	if took > 12*time.Second {
		fail("it took %s", took)
	}
	if strings.Contains(w.log.String(), "goroutine ") || code == 2 || code < 0 {
		fail("the process crashed")
	}
	switch {
	case s.claims() == claims: // this process never owned the run
	case slices.Contains(inTools(), p), p == fault.BeforeUnlocking:
	case s.Run.Status != "failed" || !strings.Contains(s.Run.Reason, "the host panicked: fault point") || code != 1:
		fail("the run is %s (%s), exit code %d", s.Run.Status, s.Run.Reason, code)
	}
	w.settled(s, s.claims() == claims || slices.Contains(inTools(), p), p == fault.BeforeForget, fail)
	return true
}

// settled compares the calls with what happened. A run that goes on may have calls that wait. Where
// the panic comes beside a command at work, the command is stopped, and may have got as far as its
// effect.
func (w *world) settled(s panickedRun, goesOn, beside bool, fail func(string, ...any)) {
	w.t.Helper()
	done, stopped := 0, 0
	for _, c := range s.Calls {
		if beside && c.Tool == "shell" && c.Phase == "settled" && strings.Contains(c.Content, "cancelled: the host panicked") {
			stopped++
			continue
		}
		if c.Phase != "settled" && s.Run.Status == "failed" || c.Outcome == "unknown" && !goesOn {
			fail("call %s is %s: %s %s", c.Tool, c.Phase, c.Outcome, c.Content)
		}
		if c.Tool == "shell" && c.Outcome == "ok" {
			done++
		}
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "effects"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); (n < done || n > done+stopped) && !goesOn {
		fail("%d commands ran and %d are on record", n, done)
	}
	left, err := filepath.Glob(filepath.Join(w.home, "state", "calls", "*", "*"))
	if err != nil || len(left) > 0 && !goesOn {
		fail("left behind: %v %v", left, err)
	}
	if temps, err := filepath.Glob(filepath.Join(w.dir, ".agent-tmp-*")); err != nil || len(temps) > 0 {
		fail("left behind in the workspace: %v %v", temps, err)
	}
}

// shown is the newest run; the zero value where there is none.
func (w *world) shown() panickedRun {
	w.t.Helper()
	var s panickedRun
	c := exec.Command(filepath.Join(binDir(), "agent"), "show", "last", "--json")
	c.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"))
	out, err := c.Output()
	if err != nil {
		return s // nothing was run yet
	}
	if err := json.Unmarshal(out, &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}
