// Package fault holds the named points at which a test may end the process. They are always compiled in, so the binary
// that is tested is the binary that ships; an unarmed point costs one atomic load. Two variables arm one point:
//
//	AGENT_FAULT=<point>[:<n>[:<action>]]   the n-th time (from 1) that the process comes by
//	AGENT_FAULT_UNSAFE=1                   without it the first one counts for nothing
//
// Actions: kill (SIGKILL to the process itself, the default), stop (SIGSTOP), panic.
package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// The variables that arm a point. Neither reaches a child process.
const (
	EnvPoint  = "AGENT_FAULT"
	EnvUnsafe = "AGENT_FAULT_UNSAFE"
)

// Point names a place between two steps.
type Point string

// The points, on both sides of every commit and of every numbered step of the order of effects (host/doc.go).
const (
	BeforeCommit    Point = "db.before_commit"
	AfterCommit     Point = "db.after_commit"
	AfterLock       Point = "run.after_lock"
	AfterClaim      Point = "run.after_claim"
	BeforeModel     Point = "model.before_request"
	MidAnswer       Point = "model.mid_answer"
	AfterModel      Point = "model.after_answer"
	AfterFailed     Point = "model.after_failed"
	BeforeSummary   Point = "model.before_summary"
	AfterSummary    Point = "model.after_summary"
	BeforePrepare   Point = "call.before_prepare"
	AfterPrepare    Point = "call.after_prepare"
	AfterStarted    Point = "call.after_started"
	AfterEffect     Point = "call.after_effect"
	AfterSettled    Point = "call.after_settled"
	AfterTurn       Point = "turn.after_settled"
	InRecovery      Point = "recovery.evidence_gathered"
	AfterVerdict    Point = "recovery.after_verdict"
	AtQuestion      Point = "request.after_opened"
	AfterAnswer     Point = "request.after_answered"
	WriteTemp       Point = "write.temp_durable"
	WriteRenamed    Point = "write.renamed"
	RunnerStarted   Point = "runner.spawned"
	RunnerBegins    Point = "runner.before_began"
	RunnerBegan     Point = "runner.after_began"
	RunnerRunning   Point = "runner.after_start"
	RunnerCommand   Point = "runner.after_command"
	RunnerExit      Point = "runner.after_exit"
	BeforeForget    Point = "call.before_forget"
	BeforeTerminal  Point = "run.before_terminal"
	BeforeMark      Point = "look.before_mark"
	AnswerRecorded  Point = "answer.recorded"
	BeforeUnlocking Point = "run.before_unlock"
)

// All lists every point.
func All() []Point {
	return []Point{
		BeforeCommit, AfterCommit, AfterLock, AfterClaim, BeforeModel, MidAnswer, AfterModel, AfterFailed, BeforeSummary, AfterSummary, BeforePrepare, AfterPrepare, AfterStarted,
		AfterEffect, AfterSettled, AfterTurn, InRecovery, AfterVerdict, AtQuestion, AfterAnswer, WriteTemp, WriteRenamed,
		RunnerStarted, RunnerBegins, RunnerBegan, RunnerRunning, RunnerCommand, RunnerExit, BeforeForget, BeforeTerminal,
		BeforeMark, AnswerRecorded, BeforeUnlocking,
	}
}

type arm struct {
	point  Point
	action string
	left   atomic.Int64
}

// armed is written once, by Arm at the start of the process, and only read after.
var armed atomic.Pointer[arm]

// Arm reads the two variables and removes them from the environment. It returns what to warn about: "" when nothing is
// armed. An unknown point or action is an error.
func Arm() (string, error) {
	text, unsafe := os.Getenv(EnvPoint), os.Getenv(EnvUnsafe)
	if err := os.Unsetenv(EnvPoint); err != nil {
		return "", fmt.Errorf("hide %s from children: %v", EnvPoint, err)
	}
	if err := os.Unsetenv(EnvUnsafe); err != nil {
		return "", fmt.Errorf("hide %s from children: %v", EnvUnsafe, err)
	}
	if text == "" {
		return "", nil
	}
	if unsafe != "1" {
		return fmt.Sprintf("%s=%s counts for nothing without %s=1", EnvPoint, text, EnvUnsafe), nil
	}
	a, err := parse(text)
	if err != nil {
		return "", err
	}
	armed.Store(a)
	return fmt.Sprintf("fault point armed: %s (a test setting: this process will end itself)", text), nil
}

func parse(text string) (*arm, error) {
	parts := strings.SplitN(text, ":", 3)
	a := &arm{point: Point(parts[0]), action: "kill"}
	a.left.Store(1)
	if !known(a.point) {
		return nil, fmt.Errorf("arm %s=%s: there is no such point", EnvPoint, text)
	}
	if len(parts) > 1 {
		n, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("arm %s=%s: %q is not a count from 1", EnvPoint, text, parts[1])
		}
		a.left.Store(n)
	}
	if len(parts) > 2 {
		a.action = parts[2]
	}
	switch a.action {
	case "kill", "stop", "panic":
		return a, nil
	}
	return nil, fmt.Errorf("arm %s=%s: there is no action %q", EnvPoint, text, a.action)
}

func known(p Point) bool {
	for _, q := range All() {
		if p == q {
			return true
		}
	}
	return false
}

// Hit is passed at the point. Unarmed it costs one atomic load.
func Hit(p Point) {
	if a := armed.Load(); a != nil {
		a.hit(p)
	}
}

func (a *arm) hit(p Point) {
	if a.point != p || a.left.Add(-1) != 0 {
		return
	}
	if a.action == "panic" {
		panic("fault point " + string(p))
	}
	end(a.action)
}

// Env is the setting for a child that is this binary again and shall keep the armed point, with what is left of its count;
// nil when nothing is armed, when the point is not the runner's, and when it was reached.
func Env() []string {
	a := armed.Load()
	if a == nil || a.left.Load() < 1 || !strings.HasPrefix(string(a.point), "runner.") {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s:%d:%s", EnvPoint, a.point, a.left.Load(), a.action), EnvUnsafe + "=1"}
}
