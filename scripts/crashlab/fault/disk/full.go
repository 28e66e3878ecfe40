//go:build linux

// Package disk is about the disk under the state: it has no room (Full), fails (IO), turns
// read-only (ReadOnly) or takes its time (Slow).
package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// shortage is a story in which the disk under the state has no room for a while.
type shortage struct {
	plan.Job
	tries  []plan.Arm // where it is taken: the first of them that the story reaches; none for before the first command
	kind   string     // what is taken: space, inodes, or bare (space, and the ballast too)
	victim string     // who is killed meanwhile: nobody, host or both
	growth bool       // a command's output grows meanwhile
}

// key names it, after "full/".
func (s *shortage) key() string {
	at := "start"
	if len(s.tries) > 0 {
		at = s.tries[0].Point
	}
	if s.growth {
		at += "+growth"
	}
	return strings.Join([]string{at, s.kind, s.victim, s.Tool, s.Situation, s.Shape}, "/")
}

// Full is about a disk on which there is no room.
func Full() lab.Fault {
	return lab.Fault{
		Name: "full", What: "the disk under the state has no room, or no inode, for a while",
		Takes: "a mount namespace of its own, with ext4 on a loop device or a tmpfs", Needs: needsMounts, Run: runFull,
	}
}

// runFull fills the disk under the state at every fault point, with kills on top.
func runFull(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := fullControls(ctx, l); err != nil {
			return err
		}
	}
	all := shortages()
	last := story.Shapes()
	if c.Short && c.Only == "" {
		all, last = plan.Sample(all, 7, c.Seed, func(s *shortage) string { return s.kind + s.victim }), last[:1]
	}
	for _, shape := range last {
		all = append(all, needsBallast(shape))
	}
	var stories []lab.Case
	for _, s := range all {
		stories = append(stories, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error { return playShortage(ctx, l, key, s) }})
	}
	return l.RunCases(ctx, "full", c, stories)
}

// shortages lists the stories: each fault point with a tool that reaches it, each thing that may be
// missing, each victim.
func shortages() []*shortage {
	var out []*shortage
	tools := []string{"shell", "write_file", "fetch", "shell:write", "apply_patch", "ask_user", "read_file"}
	for i, point := range fault.Driving() {
		for k, kind := range []string{"space", "inodes"} {
			for n, victim := range []string{"nobody", "host", "both"} {
				for m := range tools {
					tool := tools[(i+k+n+m)%len(tools)]
					situation, shape, ok := plan.StoryPassing(tool, string(point), i+k+n)
					if !ok {
						continue
					}
					f := plan.NewFamily(tool, situation, shape, string(point), false)
					f.Job.Victim = "host"
					var tries []plan.Arm
					for c := range 3 {
						tries = append(tries, plan.Arm{Command: f.First + c, Point: string(point), Pass: 1})
					}
					out = append(out, &shortage{Job: f.Job, tries: tries, kind: kind, victim: victim})
					break
				}
			}
		}
	}
	for _, kind := range []string{"space", "inodes"} {
		for _, shape := range []string{"runbook", "anthropic"} {
			out = append(out, &shortage{Job: plan.Job{Tool: "shell", Situation: "first", Shape: shape, Victim: "host"}, kind: kind, victim: "nobody"})
		}
		for _, victim := range []string{"nobody", "host", "both"} {
			grows := &shortage{Job: plan.Job{Tool: "shell", Situation: "first", Shape: "runbook", Victim: "host"}, kind: kind, victim: victim, growth: true}
			grows.tries, grows.Change = []plan.Arm{{Command: 0, Point: string(fault.RunnerRunning), Pass: 1}}, growing
			out = append(out, grows)
		}
	}
	return out
}

// needsBallast is the story that needs the ballast: no runner and no file shows what came of its
// call, so its result is lost unless there is room for its commit. The first command, which ends
// with a question, has time to make the ballast.
func needsBallast(shape string) *shortage {
	return &shortage{
		Job: plan.Job{Tool: "fetch", Situation: "question", Shape: shape, Victim: "host"}, kind: "space", victim: "nobody",
		tries: []plan.Arm{{Command: 1, Point: string(fault.AfterEffect), Pass: 1}, {Command: 2, Point: string(fault.AfterEffect), Pass: 1}},
	}
}

// growing has the first command print more than its pipe holds before its effect, and more after
// it.
func growing(s *story.Story) {
	mark := marks.Find(s.Turns[0][0].Args["command"].(string))[0]
	command := "seq -f 'line %g' 1 60000; echo " + mark + " >> effects; seq -f 'line %g' 60001 90000"
	s.Turns[0][0] = story.Step{Tool: "shell", Args: map[string]any{"command": command}, Book: "```sh\n" + command + "\n```\n"}
	s.Subject.Returns = "line 1"
}

// starved is a story on a disk that has no room.
type starved struct {
	*trial.Trial
	*shortage
	disk  *machine.Volume
	met   bool
	kills int
}

// playShortage carries one out.
func playShortage(ctx context.Context, l *lab.Lab, key string, s *shortage) error {
	w, err := fillUp(ctx, l, s)
	if err != nil {
		return err
	}
	if !w.met {
		l.Report.AddFigure("full: points not met", 1)
	}
	return l.Finish(key, w.Trial, w.kills)
}

// fillUp carries a story out and judges it. The caller closes its world.
func fillUp(ctx context.Context, l *lab.Lab, s *shortage) (*starved, error) {
	var was judge.End
	var err error
	if !s.growth {
		if was, err = l.Intact(ctx, s.Job); err != nil {
			return nil, err
		}
	}
	var disk *machine.Volume
	t, err := l.Begin(s.Job, func(root string) (func(bool) error, error) {
		o := machine.VolumeOptions{MiB: 96, Block: 4096}
		if plan.Pick(3, s.key()) == 0 {
			o.Block = 1024 // smaller than a page of memory
		}
		if s.kind == "inodes" {
			o.Inodes = 200
		}
		disk, err = machine.NewVolume(filepath.Join(root, "home"), o)
		if err != nil {
			return nil, err
		}
		return disk.Close, nil
	})
	if err != nil {
		return nil, err
	}
	w := &starved{Trial: t, shortage: s, disk: disk}
	ended := w.finish(ctx)
	e, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return nil, err
	}
	w.judge(was, e)
	return w, nil
}

// finish carries the story to its end, and takes the room away on the way.
func (w *starved) finish(ctx context.Context) error {
	if len(w.tries) == 0 {
		if err := w.startWithoutRoom(); err != nil {
			return err
		}
	}
	return w.Proceed(ctx, func(args []string) error { return w.StepHalting(args, w.tries, &w.met, w.takeAndGoOn) })
}

// take takes away what the story is about.
func (w *starved) take() error {
	if w.kind == "inodes" {
		return w.disk.FillInodes()
	}
	if w.kind == "bare" {
		if err := os.Remove(filepath.Join(w.World.State, "ballast")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return w.disk.Fill()
}

// startWithoutRoom has the story begin on a full disk.
func (w *starved) startWithoutRoom() error {
	if err := w.take(); err != nil {
		return err
	}
	w.met = true
	c, err := w.World.Start("", w.Story.RunArgs(w.Prompt, w.World.URL())...)
	if err != nil {
		return err
	}
	w.Commands++
	o, err := w.WaitEnd(c)
	if err != nil {
		return err
	}
	w.checkOutput(o)
	return errors.Join(w.meanwhile(), w.disk.Free())
}

// checkOutput looks at what a command on a full disk printed. It may have come to its end: cutting
// down the log that a crash has left makes room, and for what the ballast holds there is some.
func (w *starved) checkOutput(o judge.Output) {
	switch o.Code {
	case -9:
		w.kills++
	case 0, 3, 5:
	case 1:
		if !strings.Contains(o.Text, " is kept") { // an answer that was recorded, and is taken by the next resume
			w.checkMessage(o)
		}
	default:
		w.checkMessage(o)
	}
}

// checkMessage checks that a command that could not go on says what is missing and where.
func (w *starved) checkMessage(o judge.Output) {
	named := strings.Contains(o.Text, "make room") || strings.Contains(o.Text, "no inode") || strings.Contains(o.Text, "no space left")
	if !named || !strings.Contains(o.Text, w.World.State) {
		w.Found.Add(judge.Silent, "agent %s ends with %d and does not say that the disk of %s is full:\n%s", strings.Join(o.Args, " "), o.Code, w.World.State, o.Text)
	}
}

// takeAndGoOn takes the room away while the story is stopped, lets it go on, sees that nothing is
// begun without room, and gives the room back.
func (w *starved) takeAndGoOn(s *trial.Halted) error {
	if err := w.take(); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	if err := errors.Join(s.Release(w.shortage.victim), s.ReleaseLater()); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	o, err := w.WaitEnd(s.Command)
	if err != nil {
		return err
	}
	w.checkOutput(o)
	// What a runner still does belongs to what was begun before.
	w.World.WaitRunners()
	if err := w.take(); err != nil {
		return err
	}
	return errors.Join(w.meanwhile(), w.disk.Free())
}

// meanwhile is what a person does before there is room: look at what there is, and try to go on.
func (w *starved) meanwhile() error {
	for _, args := range [][]string{{"ls", "--all"}, {"pending"}, {"show", "last"}} {
		if args[0] == "show" && len(w.Histories) == 0 {
			continue
		}
		if err := w.show(args); err != nil {
			return err
		}
	}
	next, err := w.Next()
	if err != nil || next == nil {
		return err
	}
	c, err := w.World.Start("", next...)
	if err != nil {
		return err
	}
	w.Commands++
	o, err := w.WaitEnd(c)
	if err != nil {
		return err
	}
	w.checkOutput(o)
	return nil
}

// show carries out a command that only shows something.
func (w *starved) show(args []string) error {
	c, err := w.World.Start("", args...)
	if err != nil {
		return err
	}
	w.Commands++
	o, err := w.WaitEnd(c)
	if err == nil && o.Code != 0 {
		w.Found.Add(judge.Unlisted, "agent %s ends with %d on a full disk:\n%s", strings.Join(args, " "), o.Code, o.Text)
	}
	return err
}

// judge holds the story's end against the one of a story that always had room. The ballast keeps
// the result of whatever was under way, so an unknown outcome is a lost result where nobody was
// killed; where the host was, it is one unless nobody can look.
func (w *starved) judge(was, is judge.End) {
	if w.shortage.victim == "nobody" && len(w.Arms) == 0 {
		for _, h := range w.Histories {
			for _, c := range h.Calls {
				if len(c.Results) > 0 && c.Results[0].Result.Outcome == "unknown" {
					w.Found.Add(judge.Lost, "the disk became full, nothing was killed, and the result of call %d.%d (%s) is lost", c.Turn, c.Index, c.Tool)
				}
			}
		}
	}
	if w.shortage.victim != "both" {
		for _, c := range w.Needless {
			w.Found.Add(judge.Needless, "only the host was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if w.growth {
		w.judgeGrowth()
		return
	}
	if len(w.Found) == 0 {
		left := w.Unknown > 0 && (w.Leave || w.Shape == "runbook")
		w.Found = append(w.Found, judge.CompareEnds(was, is, w.Unknown > 0, left)...)
	}
}

// judgeGrowth looks at the result of a command whose output had no room: it is the command's own,
// and says what is missing.
func (w *starved) judgeGrowth() {
	for _, h := range w.Histories {
		for _, c := range h.Calls {
			if c.Turn != 1 || len(c.Results) == 0 || w.shortage.victim == "both" {
				continue
			}
			r := c.Results[0].Result
			if r.Outcome != "ok" || !slices.ContainsFunc([]string{"are not kept", "line 90000"}, func(s string) bool { return strings.Contains(r.Content, s) }) {
				w.Found.Add(judge.Lost, "the output of a command met a full disk: its outcome is %q, and its result says\n%s", r.Outcome, judge.Clip(r.Content))
			}
		}
	}
}
