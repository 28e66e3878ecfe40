//go:build linux

package interfere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// Panic has a host panic at every fault point, and a runner at those of its own. A run that the
// host has claimed ends as failed at once, with every call settled and nothing left running.
// Resuming it does nothing, and a next run in its thread does nothing twice; a runbook goes on
// there from the step that failed. What a panic inside of a tool has begun is unknown.
func Panic() lab.Fault {
	return kind{
		name: "panic", what: "the host panics, at every fault point", short: 6,
		all: panics, step: panicking, judge: judgePanic, control: panicControl,
	}.fault()
}

func panics() []*interference { return atEveryPoint("panic", 2) }

// longestEnd is how long a host may take that panics: half of what it would wait for a lock that it
// holds itself.
const longestEnd = 8 * time.Second

// panicking carries out one command, with the panic armed for those that may reach the point.
func panicking(b *interfered, args []string) error {
	at := slices.IndexFunc(b.tries, func(a plan.Arm) bool { return !b.met && a.Command == b.Commands })
	if at < 0 {
		return b.Step(args)
	}
	b.Commands++
	began := time.Now()
	c, err := b.World.Start(b.tries[at].Point+":1:"+b.way, args...)
	if err != nil {
		return err
	}
	o, ok, err := b.Attend(c)
	took := time.Since(began)
	if err == nil && !ok {
		err = fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(args, " "), world.ErrLate, world.Limit)
	}
	if err == nil {
		err = b.Look()
	}
	if err != nil {
		return err
	}
	if !o.Killed && !strings.Contains(o.Text, "fault point "+b.tries[at].Point) {
		return nil
	}
	b.met = true
	b.Fired = append(b.Fired, b.tries[at])
	b.panicked(o, took)
	if len(b.Found) > 0 {
		return trial.ErrFound
	}
	return b.goOnAfter()
}

// panicked judges a command that panicked.
func (b *interfered) panicked(o judge.Output, took time.Duration) {
	if took > longestEnd {
		b.Found.Add(judge.Stuck, "a host that panics ends after %s", took.Round(time.Millisecond))
	}
	// Before the process has begun to look for panics there is nothing that it could leave behind.
	if (strings.Contains(o.Text, "goroutine ") || o.Code == 2) && b.tries[0].Point != string(fault.Started) {
		b.Found.Add(judge.Stuck, "a host that panics crashes:\n%s", o.Text)
	}
	if n := len(b.World.Runners()); n > 0 {
		b.Found.Add(judge.Stuck, "a host that panicked leaves %d runners", n)
	}
	for _, h := range b.Histories {
		if h.PID != o.PID {
			continue // it never owned the run, which stays as it was
		}
		b.run, b.ended = h.Run.ID, h.Run.Status
		if !inside(b.tries[0].Point) && (h.Run.Status != "failed" || o.Code != 1) {
			b.Found.Add(judge.Stuck, "run %s is %s after a panic, and the command ends with %d:\n%s", h.Run.ID, h.Run.Status, o.Code, o.Text)
		}
		for _, c := range h.Calls {
			if h.Run.Status == "failed" && len(c.Results) > 0 && c.Results[0].Result.Outcome == "unknown" {
				b.Found.Add(judge.Needless, "the outcome of call %d.%d %s is recorded as unknown after a panic", c.Turn, c.Index, c.Tool)
			}
		}
	}
}

// inside says that a panic there is one of a tool, of a runner, or of a process that has let its
// run go: no run ends by it.
func inside(point string) bool {
	tool := []fault.Point{fault.WriteTemp, fault.WriteRenamed, fault.RunnerStarted, fault.BeforeUnlocking}
	return (plan.Arm{Point: point}).InRunner() || slices.Contains(tool, fault.Point(point))
}

// goOnAfter resumes a run that failed, which does nothing, and has the model continue in its
// thread, which sees what came of it.
func (b *interfered) goOnAfter() error {
	if b.ended != "failed" {
		return nil
	}
	before, err := b.World.Witness.Counts()
	if err != nil {
		return err
	}
	b.Commands++
	if _, err := b.World.Run(context.Background(), "resume", b.run); err != nil {
		return err
	}
	after, err := b.World.Witness.Counts()
	if err == nil && !maps.Equal(before, after) {
		b.Found.Add(judge.Twice, "a run that failed is over, and resuming it makes %v of %v", after, before)
		err = trial.ErrFound
	}
	if err == nil && b.Story.Shape != "runbook" { // a runbook that failed is continued in every story
		b.Commands++
		_, err = b.World.Run(context.Background(), b.Story.ContinueArgs(b.World.URL())...)
	}
	return errors.Join(err, b.Look())
}

// judgePanic judges the end of a story in which somebody panicked.
func judgePanic(b *interfered, was, is judge.End) judge.Findings {
	switch {
	case b.ended == "failed" && b.Story.Shape == "runbook":
		return judge.CompareEnds(was, is, true, b.Unknown > 0)
	case b.ended != "failed" && !inside(b.tries[0].Point):
		return judgeUnharmed(b, was, is)
	}
	return findMore(was, is)
}

// panicControl leaves a run as if it were driven, has a host take too long, and does something
// again after a panic.
func panicControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("panic", "", fault.AfterEffect)
	if err != nil {
		return err
	}
	killed := *i
	killed.way = "kill"
	b, _, err := interfere(ctx, l, k, &killed)
	if err != nil {
		return fmt.Errorf("the control of the panics: %w", err)
	}
	l.Control("a panic that leaves the run as if it were driven", judge.Stuck, b.Found)
	if err := b.World.Close(false); err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the panics: %w", err)
	}
	if len(b.Found) > 0 || b.ended != "failed" {
		return fmt.Errorf("the story of the control of the panics ends %q: %v, kept in %s", b.ended, b.Found, b.World.Root)
	}
	b.panicked(judge.Output{}, 15*time.Second)
	l.Control("a host that panics waits for its own lock", judge.Stuck, b.Found)
	text := []byte(strings.Repeat(marks.In(b.World.Number, "a")+"\n", 2))
	if err := os.WriteFile(filepath.Join(b.World.Dir, "effects"), text, 0o600); err != nil {
		return err
	}
	saw, err := b.World.Witness.Counts()
	if err != nil {
		return err
	}
	l.Control("what was done before a panic is done again", judge.Twice, judge.CompareEffects(b.Histories, saw))
	is.Saw["mark-z"] = 1
	l.Control("a panic brings about what does not happen without it", judge.Twice, judgePanic(b, b.was, is))
	return b.World.Close(false)
}
