//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
)

// readOnlyStory is a story whose state cannot be written to for a while.
type readOnlyStory struct {
	plan.Job
	tries []plan.Arm // where it begins; none for before the first command
	// fails: the file system turns read-only under who has files open; remount: everybody is
	// killed, then it is remounted
	how    string
	victim string // of a file system that fails: nobody, host or both
}

// key names it, after "readonly/".
func (f *readOnlyStory) key() string {
	at := "start"
	if len(f.tries) > 0 {
		at = f.tries[0].Point
	}
	return strings.Join([]string{at, f.how, f.victim, f.Tool, f.Situation, f.Shape}, "/")
}

// ReadOnly is about a file system that turns read-only.
func ReadOnly() lab.Fault {
	return lab.Fault{
		Name: "readonly", What: "the file system under the state turns read-only for a while",
		Takes: "a mount namespace of its own, with ext4 on a loop device or a tmpfs", Needs: needsMounts, Run: runReadonly,
	}
}

// runReadonly turns the file system under the state read-only, at every fault point and before a
// start.
func runReadonly(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := readOnlyControl(ctx, l); err != nil {
			return err
		}
	}
	all := readOnlyStories()
	if c.Short && c.Only == "" {
		all = plan.Sample(all, 4, c.Seed, func(f *readOnlyStory) string { return f.how + f.victim })
	}
	var stories []lab.Case
	for _, f := range all {
		stories = append(stories, lab.Case{Key: f.key(), Try: func(ctx context.Context, key string) error {
			t, err := playReadOnly(ctx, l, f)
			if err != nil {
				return err
			}
			return l.Finish(key, t, 0)
		}})
	}
	return l.RunCases(ctx, "readonly", c, stories)
}

// readOnlyStories lists the stories. A file system fails of itself only where it is an ext4.
func readOnlyStories() []*readOnlyStory {
	var out []*readOnlyStory
	ways := [][2]string{{"remount", "both"}}
	if machine.CanLoop() {
		ways = append(ways, [2]string{"fails", "nobody"}, [2]string{"fails", "host"}, [2]string{"fails", "both"})
	}
	tools := []string{"write_file", "shell", "ask_user", "fetch", "shell:write", "edit_file", "read_file"}
	for i, point := range fault.Driving() {
		for k, way := range ways {
			for m := range tools {
				tool := tools[(i+k+m)%len(tools)]
				situation, shape, ok := plan.StoryPassing(tool, string(point), i+k)
				if !ok {
					continue
				}
				f := plan.NewFamily(tool, situation, shape, string(point), false)
				f.Job.Victim = "host"
				var tries []plan.Arm
				for c := range 3 {
					tries = append(tries, plan.Arm{Command: f.First + c, Point: string(point), Pass: 1})
				}
				out = append(out, &readOnlyStory{Job: f.Job, tries: tries, how: way[0], victim: way[1]})
				break
			}
		}
	}
	return append(out, &readOnlyStory{Job: plan.Job{Tool: "shell", Situation: "first", Shape: "chat", Victim: "host"}, how: "remount", victim: "both"})
}

// readOnlyTrial is a story whose disk turns read-only on the way.
type readOnlyTrial struct {
	*trial.Trial
	*readOnlyStory
	disk *machine.Volume
	met  bool
}

// playReadOnly carries a story out and judges it. The caller closes its world.
func playReadOnly(ctx context.Context, l *lab.Lab, f *readOnlyStory) (*trial.Trial, error) {
	was, err := l.Intact(ctx, f.Job)
	if err != nil {
		return nil, err
	}
	z, err := beginReadOnly(l, f)
	if err != nil {
		return nil, err
	}
	e, err := l.Conclude(ctx, z.Trial, z.finish(ctx))
	if err != nil {
		return nil, err
	}
	if !z.met {
		l.Report.AddFigure("readonly: points not met", 1)
	}
	for _, c := range z.Needless {
		// A runner that cannot write its record any more leaves nothing to look at.
		if z.readOnlyStory.victim != "both" && !strings.HasSuffix(c, " shell") {
			z.Found.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if len(z.Found) == 0 {
		left := z.Unknown > 0 && (z.Leave || z.Shape == "runbook")
		z.Found = append(z.Found, judge.CompareEnds(was, e, z.Unknown > 0, left)...)
	}
	return z.Trial, nil
}

func beginReadOnly(l *lab.Lab, f *readOnlyStory) (*readOnlyTrial, error) {
	var disk *machine.Volume
	t, err := l.Begin(f.Job, func(root string) (_ func(bool) error, err error) {
		if disk, err = machine.NewVolume(filepath.Join(root, "home"), machine.VolumeOptions{MiB: 96, Block: 4096}); err != nil {
			return nil, err
		}
		return disk.Close, nil
	})
	if err == nil {
		err = disk.Sync() // what the lab has put there is not what the disk is to lose
	}
	return &readOnlyTrial{Trial: t, readOnlyStory: f, disk: disk}, err
}

// finish carries the story to its end, and freezes the disk on the way.
func (z *readOnlyTrial) finish(ctx context.Context) error {
	if len(z.tries) == 0 {
		z.met = true
		err := z.disk.ReadOnly(true)
		if err == nil {
			err = z.meanwhile()
		}
		if err := errors.Join(err, z.disk.ReadOnly(false)); err != nil {
			return err
		}
	}
	return z.Proceed(ctx, func(args []string) error { return z.StepHalting(args, z.tries, &z.met, z.freezeAndGoOn) })
}

// freezeAndGoOn turns the disk read-only while the story is stopped, sees that nothing is begun,
// and makes it writable again.
func (z *readOnlyTrial) freezeAndGoOn(s *trial.Halted) error {
	if z.how == "fails" {
		if err := z.disk.Fail(); err != nil {
			return errors.Join(err, trial.Abort(s.Command))
		}
	}
	if err := errors.Join(s.Release(z.readOnlyStory.victim), s.ReleaseLater()); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	o, err := z.WaitEnd(s.Command)
	if err != nil {
		return err
	}
	if o.Code == 1 || o.Code == 4 {
		z.checkMessage(o)
	}
	z.World.WaitRunners()
	if z.how == "fails" {
		return errors.Join(z.meanwhile(), z.disk.Repair())
	}
	if err := z.disk.ReadOnly(true); err != nil {
		return err
	}
	return errors.Join(z.meanwhile(), z.disk.ReadOnly(false))
}

// checkMessage checks that a command that could not go on says why, and what fixes it.
func (z *readOnlyTrial) checkMessage(o judge.Output) {
	named := strings.Contains(o.Text, "make it writable") || strings.Contains(o.Text, "see to the disk") || strings.Contains(o.Text, "make room")
	if !named || !strings.Contains(o.Text, z.World.State) {
		z.Found.Add(judge.Silent, "agent %s ends with %d and does not say that %s cannot be written:\n%s", strings.Join(o.Args, " "), o.Code, z.World.State, o.Text)
	}
}

// meanwhile is what a person does before the disk takes something again: look at what there is,
// which works, and try to go on, which is refused. Nothing happens.
func (z *readOnlyTrial) meanwhile() error {
	before, err := z.World.Witness.Counts()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"ls", "--all"}, {"pending"}, {"show", "last"}} {
		if args[0] == "show" && len(z.Histories) == 0 {
			continue
		}
		o, err := z.run(args)
		if err != nil {
			return err
		}
		if o.Code != 0 {
			z.Found.Add(judge.Unlisted, "agent %s ends with %d where nothing can be written:\n%s", strings.Join(args, " "), o.Code, o.Text)
		}
	}
	next, err := z.Next()
	if err != nil || next == nil {
		return err
	}
	o, err := z.run(next)
	if err != nil {
		return err
	}
	if o.Code != 1 {
		z.Found.Add(judge.Unlisted, "agent %s ends with %d where nothing can be written:\n%s", strings.Join(next, " "), o.Code, o.Text)
	}
	z.checkMessage(o)
	after, err := z.World.Witness.Counts()
	if err == nil && fmt.Sprint(before) != fmt.Sprint(after) {
		z.Found.Add(judge.Twice, "something happened without a record: %v became %v", before, after)
	}
	return err
}

// run carries out a command and returns what it printed.
func (z *readOnlyTrial) run(args []string) (judge.Output, error) {
	c, err := z.World.Start("", args...)
	if err != nil {
		return judge.Output{}, err
	}
	z.Commands++
	return z.WaitEnd(c)
}

// readOnlyControl has something happen while nothing can be recorded.
func readOnlyControl(ctx context.Context, l *lab.Lab) error {
	f := &readOnlyStory{
		Job: plan.Job{Tool: "shell", Situation: "first", Shape: "runbook", Victim: "host"}, how: "remount", victim: "both",
		tries: []plan.Arm{{Command: 0, Point: string(fault.AfterStarted), Pass: 1}},
	}
	z, err := beginReadOnly(l, f)
	if err != nil {
		return err
	}
	s, err := z.Halt(z.Story.RunArgs(z.Prompt, ""), z.tries[0])
	if err == nil && s == nil {
		err = fmt.Errorf("the story of the control does not come by %s", z.tries[0].Point)
	}
	if err == nil {
		err = s.Release("both")
	}
	if err == nil {
		_, err = z.WaitEnd(s.Command)
	}
	if err == nil {
		err = z.disk.ReadOnly(true)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(z.World.Dir, "effects"), []byte(marks.In(z.World.Number, "c")+"\n"), 0o600)
	}
	if err == nil {
		if err = z.Look(); errors.Is(err, trial.ErrFound) {
			err = nil
		}
	}
	l.Control("something happens while nothing can be recorded", judge.Twice, z.Found)
	return errors.Join(err, z.World.Close(false))
}
