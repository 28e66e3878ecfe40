//go:build linux

// Package interfere is about what people and other processes do to a run: signals, cancels,
// takeovers, panics, decisions on calls that are asked for again, also in other spellings, and
// states that are taken away or put back.
//
// Each is done while a command of a story is stopped at a fault point. interfere.go has what they
// need: a kind lists its stories, says what is done, how the end is judged, and has a control. A
// new one is a file here and a line in the main package.
package interfere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// interference is a story in which somebody interferes while one of its commands, or a runner of
// its, is stopped at a fault point.
type interference struct {
	plan.Job
	way   string     // what is done
	own   string     // the fault point at which the process that interferes is killed itself; "" for nowhere
	tries []plan.Arm // of the story's commands; the first that is met is the one
}

// key names it, after the name of its kind and a slash.
func (i *interference) key() string {
	own := i.own
	if own == "" {
		own = "-"
	}
	return strings.Join([]string{i.way, i.tries[0].Point, own, i.Tool, i.Situation, i.Shape}, "/")
}

// kind is a kind of interference. Each is a line in the list of the main package.
type kind struct {
	name, what string
	all        func() []*interference
	short      int // how many of them the short pass holds, of as many ways as it can
	act        func(b *interfered, s *trial.Halted) error
	step       func(b *interfered, args []string) error              // carries a command out instead of halting it for act; nil for those
	judge      func(b *interfered, was, is judge.End) judge.Findings // of a story that was interfered with, at its end
	control    func(ctx context.Context, l *lab.Lab, k kind) error
}

func (k kind) fault() lab.Fault {
	return lab.Fault{Name: k.name, What: k.what, Needs: func(*lab.Lab) error { return nil }, Run: k.run}
}

// run carries the stories out that were asked for.
func (k kind) run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := k.control(ctx, l, k); err != nil {
			return err
		}
	}
	all := k.all()
	if c.Short && c.Only == "" {
		all = slices.DeleteFunc(all, func(i *interference) bool { return i.own != "" && !slices.Contains(commonPoints(), i.own) })
		all = plan.Sample(all, k.short, c.Seed, func(i *interference) string { return i.way + " " + i.own })
	}
	var stories []lab.Case
	for _, i := range all {
		stories = append(stories, lab.Case{Key: i.key(), Try: func(ctx context.Context, key string) error {
			b, is, err := interfere(ctx, l, k, i)
			if err != nil {
				return err
			}
			if len(b.Found) == 0 {
				b.Found = k.judge(b, b.was, is)
			}
			return l.Finish(key, b.Trial, b.kills)
		}})
	}
	return l.RunCases(ctx, k.name, c, stories)
}

// interfered is a story while it is interfered with.
type interfered struct {
	*trial.Trial
	*interference
	was         judge.End // of the same story without interference
	met         bool      // it reached the point
	run         string    // that was interfered with; "" where there was none yet
	ended       string    // how that run stood when nobody interfered any more
	saw         map[string]int
	kills       int  // that are no arms of the story
	otherKilled bool // the process that interferes was killed at its own point
	told        []message
}

// interfere carries a story out. The caller judges it and closes its world.
func interfere(ctx context.Context, l *lab.Lab, k kind, i *interference) (*interfered, judge.End, error) {
	was, err := l.Intact(ctx, i.Job)
	if err != nil {
		return nil, judge.End{}, err
	}
	t, err := l.Begin(i.Job, nil)
	if err != nil {
		return nil, judge.End{}, err
	}
	b := &interfered{Trial: t, interference: i, was: was}
	ended := t.Proceed(ctx, func(args []string) error {
		if k.step != nil {
			return k.step(b, args)
		}
		return t.StepHalting(args, i.tries, &b.met, func(s *trial.Halted) error { return b.interfereWith(s, k.act) })
	})
	is, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return nil, judge.End{}, err
	}
	if !b.met {
		l.Report.AddFigure(k.name+": points not met", 1)
	}
	if b.run == "" {
		l.Report.AddFigure(k.name+": nothing to interfere with", 1)
	}
	if i.own != "" && b.run != "" && !b.otherKilled {
		l.Report.AddFigure(k.name+": own points not met", 1)
	}
	return b, is, nil
}

// interfereWith finds the run of a command that is stopped, and has act interfere with it.
func (b *interfered) interfereWith(s *trial.Halted, act func(*interfered, *trial.Halted) error) error {
	if err := b.Look(); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	if len(b.Histories) > 0 {
		h := b.Histories[len(b.Histories)-1]
		b.run = h.Run.ID
	}
	if err := act(b, s); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	b.RunnerHalted = s.Arm.InRunner() // a runner that reaches the point only now is stopped there
	if err := b.Look(); err != nil {
		return err
	}
	for _, h := range b.Histories {
		if h.Run.ID == b.run {
			b.ended = h.Run.Status
		}
	}
	saw, err := b.World.Witness.Counts()
	b.saw = saw
	return err
}

// release lets everybody go on and waits for the end of the command.
func (b *interfered) release(s *trial.Halted) (judge.Output, error) {
	if err := s.Release(""); err != nil {
		return judge.Output{}, err
	}
	if err := s.ReleaseLater(); err != nil {
		return judge.Output{}, err
	}
	return b.await(s.Command)
}

// await waits for a command that is about to end.
func (b *interfered) await(c *world.Command) (judge.Output, error) {
	o, ok, err := b.Attend(c)
	if err == nil && !ok {
		err = fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(c.Args, " "), world.ErrLate, world.Limit)
	}
	if err == nil && o.Code == 2 {
		err = fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(c.Args, " "), o.Text)
	}
	return o, err
}

// startOther starts the process that interferes, with the point armed at which it is killed itself.
func (b *interfered) startOther(args ...string) (*world.Command, error) {
	b.Commands++
	arm := ""
	if b.own != "" {
		arm = b.own + ":1"
	}
	return b.World.Start(arm, args...)
}

// awaitRepeating waits for the process that interferes. Where it was killed at its own point, a
// person gives the same command once more.
func (b *interfered) awaitRepeating(c *world.Command, wait func(*world.Command) (judge.Output, error)) (judge.Output, error) {
	o, err := wait(c)
	if err != nil || !o.Killed {
		return o, err
	}
	b.otherKilled = true
	b.kills++
	b.Commands++
	if c, err = b.World.Start("", c.Args...); err != nil {
		return o, err
	}
	return wait(c)
}

// awaitReleasing waits for a command that waits for a stopped runner, and lets the runner go on
// once the command has seen it.
func (b *interfered) awaitReleasing(c *world.Command) (judge.Output, error) {
	let := make(chan error, 1)
	go func() { let <- b.ReleaseRunners(c) }()
	o, err := b.await(c)
	return o, errors.Join(err, <-let)
}

// awaitText waits until a command has printed the text, has ended, or has not printed it for a
// while.
func awaitText(c *world.Command, words string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(trial.AttachPatience)
	for !strings.Contains(c.Text.String(), words) {
		select {
		case <-tick.C:
		case <-c.Ended:
			return
		case <-late:
			return
		}
	}
}

// judgeUnharmed judges a story in which no runner was killed: it ends as if nobody had interfered,
// and every tool that can find out knows what came of its call.
func judgeUnharmed(b *interfered, was, is judge.End) judge.Findings {
	var f judge.Findings
	for _, c := range b.Needless {
		f.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
	}
	left := b.Unknown > 0 && (b.Leave || b.Story.Shape == "runbook")
	return append(f, judge.CompareEnds(was, is, b.Unknown > 0, left)...)
}

// commonPoints are points that are reached by every command that changes a run.
func commonPoints() []string {
	return []string{string(fault.Started), string(fault.BeforeCommit), string(fault.AfterCommit)}
}

// interferingTools are those whose stories are interfered with.
func interferingTools() []string {
	return []string{"shell", "write_file", "fetch", "shell:write", "ask_user", "apply_patch", "shell:read"}
}

// atEveryPoint lists each fault point with a number of tools that reach it.
func atEveryPoint(way string, tools int) []*interference {
	var out []*interference
	all := interferingTools()
	for n, point := range fault.Driving() {
		taken := 0
		for m := range all {
			tool := all[(n+m)%len(all)]
			situation, shape, ok := plan.StoryPassing(tool, string(point), n+m)
			if !ok || taken == tools {
				continue
			}
			taken++
			out = append(out, newInterference(way, "", tool, situation, shape, string(point)))
		}
	}
	return out
}

// atItsOwnPoints lists each fault point as the one at which the process that interferes is killed,
// while the story of the tool stands still at one.
func atItsOwnPoints(way, tool string, at fault.Point) []*interference {
	var out []*interference
	for n, own := range fault.Driving() {
		if (plan.Arm{Point: string(own)}).InRunner() {
			continue // it would kill what the process runs, and not the process
		}
		shape := story.Shapes()[n%len(story.Shapes())]
		if _, why := story.New(tool, "first", shape, 0, "127.0.0.1:1"); why == "" {
			out = append(out, newInterference(way, string(own), tool, "first", shape, string(at)))
		}
	}
	return out
}

func newInterference(way, own, tool, situation, shape, point string) *interference {
	f := plan.NewFamily(tool, situation, shape, point, false)
	f.Job.Victim = "host"
	i := &interference{Job: f.Job, way: way, own: own}
	for c := range plan.MostTries {
		i.tries = append(i.tries, plan.Arm{Command: f.First + c, Point: point, Pass: 1})
	}
	return i
}

// find is the story of a control.
func (k kind) find(way, own string, point fault.Point) (*interference, error) {
	all := k.all()
	n := slices.IndexFunc(all, func(i *interference) bool { return i.way == way && i.own == own && i.tries[0].Point == string(point) })
	if n < 0 {
		return nil, fmt.Errorf("there is no story %s/%s for the control", way, point)
	}
	return all[n], nil
}

// findMore finds what a story did that the same story without interference does not do. That a part
// is missing is allowed.
func findMore(was, is judge.End) judge.Findings {
	var f judge.Findings
	for _, m := range slices.Sorted(maps.Keys(is.Saw)) {
		if is.Saw[m] > was.Saw[m] {
			f.Add(judge.Twice, "the effect %s happened %d times, and in the whole story %d times", m, is.Saw[m], was.Saw[m])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Files)) {
		if _, ok := was.Files[name]; !ok {
			f.Add(judge.Differs, "the file %s is left behind", name)
		}
	}
	return f
}
