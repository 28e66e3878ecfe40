// Package fault holds the named points at which a test may end the process or set its clock. They
// are always compiled in, so the binary that is tested is the binary that ships; an unarmed point
// costs one atomic load. Two variables arm points:
//
//	AGENT_FAULT=<point>[:<n>[:<action>]][,…]   the n-th time (from 1) that the process passes
//	AGENT_FAULT_UNSAFE=1                       without it the first one counts for nothing
//
// A point drive:<point> is for the process that is started to drive a run in the background, and
// for those that it starts. Actions: kill (SIGKILL to the process itself, the default), stop
// (SIGSTOP), panic, and clock+26h or clock-90m, which set the process's clock forward or back by a
// duration (Now). Several points are armed at once, each with its own count.
package fault

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The variables that arm points. Neither reaches a child process.
const (
	EnvPoint  = "AGENT_FAULT"
	EnvUnsafe = "AGENT_FAULT_UNSAFE"
)

// Point names a place between two steps.
type Point string

// The points, on both sides of every commit and of every numbered step of the order of effects
// (host/drive/doc.go).
const (
	Started         Point = "process.started"
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
	RunnerReady     Point = "runner.confining"
	RunnerBegan     Point = "runner.after_began"
	RunnerRunning   Point = "runner.after_start"
	RunnerCommand   Point = "runner.after_command"
	RunnerExit      Point = "runner.after_exit"
	BeforeForget    Point = "call.before_forget"
	BeforeTerminal  Point = "run.before_terminal"
	BeforeMark      Point = "look.before_mark"
	AnswerRecorded  Point = "answer.recorded"
	BeforeUnlocking Point = "run.before_unlock"
	DriverSpawned   Point = "launch.spawned"
	DriverAccepted  Point = "launch.accepted"
	BeforeRecovery  Point = "recover.before_launch"
	ArtifactSynced  Point = "artifact.synced"
	ArtifactCopied  Point = "artifact.copied"
	ArtifactTemp    Point = "artifact.temp_durable"
	ArtifactLinked  Point = "artifact.linked"
	ChildRecorded   Point = "delegate.child_created"
	ChildEnded      Point = "delegate.child_ended"
	Parked          Point = "run.parked"
	PhaseStarted    Point = "flow.phase_recorded"
	PhaseEnded      Point = "flow.phase_ended"
	PhaseRewound    Point = "flow.rewound"
	ArtifactsLooked Point = "flow.looked"
	BaseMade        Point = "keep.base_made"
	LookedBefore    Point = "keep.before_look"
	LookedAfter     Point = "keep.after_look"
	RestoreTemp     Point = "restore.temp_durable"
	RestoreRenamed  Point = "restore.renamed"
	CommitsRead     Point = "commit.read"
	BackupBegun     Point = "backup.begun"
	BackupCopied    Point = "backup.copied"
	BackupSealed    Point = "backup.sealed"
	StoreUnpacked   Point = "restore.unpacked"
	StoreDecided    Point = "restore.decided"
	StoreNamed      Point = "restore.named"
	PruneHidden     Point = "prune.hidden"
	PruneRows       Point = "prune.rows"
	PruneFiles      Point = "prune.files"
	PackMarked      Point = "export.marked" // the runs went, and the pack is not there yet
	PackSealed      Point = "export.sealed" // it is whole, and has not its name
	PackRead        Point = "import.read"
	PackTaken       Point = "import.taken"
	BeforeWitness   Point = "witness.before" // what is announced is on record, and not said yet
	AfterWitness    Point = "witness.after"  // it was said, and has not begun
)

// All lists every point. A new one comes last: stories of the crash lab are dealt out by place.
func All() []Point {
	return slices.Concat(Driving(), []Point{DriverSpawned, DriverAccepted, BeforeRecovery}, Flows(), Delegating(), Phases(), Workspaces(), Restoring(), Committing(), Copying(), Witnessed())
}

// Flows lists the points at which the host of a flow takes artifacts or puts them back.
func Flows() []Point {
	return []Point{ArtifactSynced, ArtifactCopied, ArtifactTemp, ArtifactLinked}
}

// Phases lists the points that only the driver of a flow passes.
func Phases() []Point { return []Point{PhaseStarted, PhaseEnded, PhaseRewound, ArtifactsLooked} }

// Workspaces lists the points at which the host looks at the files of a workspace.
func Workspaces() []Point { return []Point{BaseMade, LookedBefore, LookedAfter} }

// Restoring lists the points at which what was in a workspace is made again.
func Restoring() []Point { return []Point{RestoreTemp, RestoreRenamed} }

// Committing lists the points at which git's logs were read for commits, and what they say is not
// on record.
func Committing() []Point { return []Point{CommitsRead} }

// Copying lists the points that only the commands pass which make a backup, or a state folder of
// one, or remove runs.
func Copying() []Point {
	return []Point{BackupBegun, BackupCopied, BackupSealed, StoreUnpacked, StoreDecided, StoreNamed, PruneHidden, PruneRows, PruneFiles, PackMarked, PackSealed, PackRead, PackTaken}
}

// Witnessed lists the points that only the driver of a run passes that has a witness.
func Witnessed() []Point { return []Point{BeforeWitness, AfterWitness} }

// Delegating lists the points that only a command passes which drives runs below its own.
func Delegating() []Point { return []Point{ChildRecorded, ChildEnded, Parked} }

// Driving lists the points that a command passes which drives its run itself, and its runners.
func Driving() []Point {
	return []Point{
		Started, BeforeCommit, AfterCommit, AfterLock, AfterClaim, BeforeModel, MidAnswer, AfterModel, AfterFailed, BeforeSummary, AfterSummary, BeforePrepare, AfterPrepare, AfterStarted,
		AfterEffect, AfterSettled, AfterTurn, InRecovery, AfterVerdict, AtQuestion, AfterAnswer, WriteTemp, WriteRenamed,
		RunnerStarted, RunnerBegins, RunnerBegan, RunnerRunning, RunnerCommand, RunnerExit, BeforeForget, BeforeTerminal,
		BeforeMark, AnswerRecorded, BeforeUnlocking, RunnerReady,
	}
}

type arm struct {
	point  Point
	action string
	step   time.Duration // of the clock
	driver bool          // it is for a process that drives in the background
	left   atomic.Int64
}

// arms are the armed points, and how far the clock was set from what it is.
type arms struct {
	all   []*arm
	ahead atomic.Int64 // nanoseconds
}

// armed is written once, by Arm at the start of the process, and only read after.
//
// Exception: points are passed everywhere, down to where nothing is handed on
var armed atomic.Pointer[arms]

// Arm reads the two variables, removes them from the environment, and passes the point
// process.started. It returns what to warn about: "" when nothing is armed. An unknown point or
// action is an error.
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
	Hit(Started)
	return fmt.Sprintf("fault point armed: %s (a test setting: %s)", text, a.does()), nil
}

// does says what the person has to expect.
func (a *arms) does() string {
	var does []string
	for _, one := range a.all {
		what := "this process will end itself"
		if one.step != 0 {
			what = "this process will set its clock"
		}
		if !slices.Contains(does, what) {
			does = append(does, what)
		}
	}
	return strings.Join(does, ", ")
}

func parse(text string) (*arms, error) {
	var a arms
	for one := range strings.SplitSeq(text, ",") {
		x, err := parseOne(one)
		if err != nil {
			return nil, fmt.Errorf("arm %s=%s: %v", EnvPoint, text, err)
		}
		a.all = append(a.all, x)
	}
	return &a, nil
}

const driverPrefix = "drive:"

func parseOne(text string) (*arm, error) {
	point, driver := strings.CutPrefix(text, driverPrefix)
	parts := strings.SplitN(point, ":", 3)
	a := &arm{point: Point(parts[0]), action: "kill", driver: driver}
	a.left.Store(1)
	if !slices.Contains(All(), a.point) {
		return nil, fmt.Errorf("there is no such point as %q", parts[0])
	}
	if len(parts) > 1 {
		n, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a count from 1", parts[1])
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
	step, ok := strings.CutPrefix(a.action, "clock")
	if !ok {
		return nil, fmt.Errorf("there is no action %q", a.action)
	}
	var err error
	if a.step, err = time.ParseDuration(step); err != nil || a.step == 0 || !strings.ContainsAny(step[:1], "+-") {
		return nil, fmt.Errorf("%q is no step of the clock, such as clock+26h or clock-90m", a.action)
	}
	return a, nil
}

// Hit is passed at the point. Unarmed it costs one atomic load.
func Hit(p Point) {
	if a := armed.Load(); a != nil {
		a.hit(p)
	}
}

func (a *arms) hit(p Point) {
	for _, one := range a.all {
		if one.driver || one.point != p || one.left.Add(-1) != 0 {
			continue
		}
		switch {
		case one.step != 0:
			a.ahead.Add(int64(one.step))
		case one.action == "panic":
			panic("fault point " + string(p))
		default:
			end(one.action)
		}
	}
}

// Now is the time of day. Whatever is recorded, compared with another process's times, or shown as
// a date comes from here, so that a test can set the clock. What only measures how long something
// takes is measured by time.Now and time.Since, which no setting of the clock changes. Unarmed it
// costs one atomic load beside the clock.
func Now() time.Time {
	if a := armed.Load(); a != nil {
		if ahead := a.ahead.Load(); ahead != 0 {
			return time.Now().Round(0).Add(time.Duration(ahead)) // without the reading that measures
		}
	}
	return time.Now()
}

// Env is the setting for a child that is this binary again: the clock as it stands here, and the
// runner's points with what is left of their counts; nil when there is neither.
func Env() []string {
	return setting(func(a *arm) bool { return strings.HasPrefix(string(a.point), "runner.") && !a.driver })
}

// DriverEnv is the setting for a child that drives a run in the background: the clock as it stands
// here, and the points for such processes; nil when there is neither.
func DriverEnv() []string { return setting(func(a *arm) bool { return a.driver }) }

func setting(keeps func(*arm) bool) []string {
	a := armed.Load()
	if a == nil {
		return nil
	}
	var keep []string
	if ahead := time.Duration(a.ahead.Load()); ahead != 0 {
		keep = append(keep, fmt.Sprintf("%s:1:clock%s", Started, signed(ahead)))
	}
	for _, one := range a.all {
		if n := one.left.Load(); n > 0 && keeps(one) {
			keep = append(keep, fmt.Sprintf("%s:%d:%s", one.point, n, one.action))
		}
	}
	if keep == nil {
		return nil
	}
	return []string{EnvPoint + "=" + strings.Join(keep, ","), EnvUnsafe + "=1"}
}

// signed writes a duration with its sign.
func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}
