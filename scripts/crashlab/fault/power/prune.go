//go:build linux

package power

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// pruneShape is the story of a run that is removed, and of one that stays: the power is cut while
// the first is removed, and then the removal is done again.
const pruneShape = "prune"

// What is tried of it.
const (
	shortPruned = 12
	wholePruned = 240
)

// newPruned is a run whose outputs lie in files beside the database.
func newPruned(number int) story.Story {
	steps := func(text string) []story.Step {
		return []story.Step{{Tool: "shell", Book: "```sh\n" + text + "\n```\n"}}
	}
	return story.Story{Tool: "shell", Situation: "first", Shape: "runbook", Mode: "yolo", Subject: story.Subjects()["shell"], Files: map[string]string{"notes.txt": "hay\n"}, Turns: [][]story.Step{
		steps("head -c 600000 /dev/urandom | base64"), steps("head -c 400000 /dev/urandom > made; echo " + marks.In(number, "a") + " >> effects"),
	}}
}

// removal is the recording of it.
type removal struct {
	*recording
	begins int    // the operation before the removal's first
	stays  string // the run that is kept
}

// pruned records the story, and cuts the power at operations of the removal, or where a key says.
func pruned(ctx context.Context, l *lab.Lab, exe, only string, c lab.Choice) (err error) {
	p, err := prepare(l, exe, pruneShape, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	x := &removal{recording: p}
	if err := x.play(ctx); err != nil {
		return err
	}
	if only != "" {
		one, err := p.find(only)
		if err != nil {
			return err
		}
		return x.try(ctx, one)
	}
	if err := x.control(ctx); err != nil {
		return err
	}
	all := x.choose(c)
	l.Report.BeginPart(len(all), "power cuts of a removal")
	for _, one := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := x.try(ctx, one); err != nil {
			return err
		}
		l.Report.Progress()
	}
	return nil
}

// play carries the story out: two runs, of which the second stays.
func (x *removal) play(ctx context.Context) error {
	for _, args := range [][]string{x.story.RunArgs(x.prompt, ""), x.story.RunArgs(x.prompt, ""), {"prune", "--keep", "1", "--yes"}} {
		var err error
		if x.begins, err = x.disk.Index(); err != nil {
			return err
		}
		o, err := x.world.Run(ctx, args...)
		if err != nil || o.Code != 0 {
			return fmt.Errorf("agent %v ends with %d, %v:\n%s", args, o.Code, err, o.Text)
		}
		x.runners().WaitRunners()
	}
	var err error
	if x.record, err = x.load(x.world.State); err != nil {
		return err
	}
	if len(x.record.Runs) != 1 {
		return fmt.Errorf("%d runs are left", len(x.record.Runs))
	}
	x.stays = x.record.Runs[0].ID
	n, err := x.disk.Index()
	if err == nil {
		x.ops, err = x.disk.Ops(1, n)
	}
	return err
}

// moments are the cuts of the removal.
func (x *removal) moments() []cut {
	return slices.DeleteFunc(x.cutPoints(), func(c cut) bool { return c.at <= x.begins })
}

func (x *removal) choose(c lab.Choice) (out []cut) {
	rng, n := rand.New(rand.NewPCG(c.Seed, 16)), wholePruned
	if c.Short {
		n = shortPruned
	}
	points := x.moments()
	for range n {
		one := points[rng.IntN(len(points))]
		one.model, one.seed, one.resume = models()[rng.IntN(len(models()))], c.Seed, true
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b cut) int { return a.at - b.at })
	return out
}

// control cuts the power of a disk that ignores fsync: the run that stays must then be found
// damaged, or the database.
func (x *removal) control(ctx context.Context) error {
	points := x.moments()
	var f judge.Findings
	for i := 0; i < len(points) && len(f) == 0; i += max(1, len(points)/12) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := points[i]
		c.model, c.seed = "nosync", uint64(i)
		dir, err := x.makeState(c)
		if err != nil {
			return err
		}
		f = append(f, x.kept(filepath.Join(dir, "home", "state"))...)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	x.lab.Control("the power of a disk that ignores fsync is cut ("+pruneShape+")", judge.Broken, f)
	return nil
}

// try makes a state, and judges it before and after the removal is done again in it.
func (x *removal) try(ctx context.Context, c cut) error {
	dir, err := x.makeState(c)
	if err != nil {
		return err
	}
	t, err := x.reboot(c, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", c.key(x.shape), err)
	}
	t.Found = x.keptCopy(t)
	for _, args := range [][]string{{"prune", "--keep", "1", "--yes"}, {"doctor"}, {"show", x.stays}} {
		t.Commands++
		o, err := t.World.Run(ctx, args...)
		if err != nil {
			return errors.Join(err, x.closeTrial(t))
		}
		if o.Code != 0 {
			t.Found.Add(judge.Broken, "after the cut agent %v ends with %d:\n%s", args, o.Code, o.Text)
		}
	}
	t.Found = append(t.Found, x.keptCopy(t)...)
	if r, err := journal.Load(t.World.State, t.World.Root); err == nil && len(r.Runs) != 1 {
		t.Found.Add(judge.Stuck, "%d runs are left after the removal was done again", len(r.Runs))
	}
	x.lab.Report.CountFault("power", t, 0)
	x.lab.Report.AddFigure("cuts of a removal", 1)
	return errors.Join(x.closeTrial(t), x.report(c, dir, t.Found))
}

// keptCopy judges the run that stays by a copy of the database.
func (x *removal) keptCopy(t *trial.Trial) (f judge.Findings) {
	r, err := journal.Load(t.World.State, t.World.Root)
	if err != nil {
		f.Add(judge.Broken, "the database does not open: %v", err)
		return f
	}
	return x.whole(r)
}

// kept likewise, of a state that is thrown away.
func (x *removal) kept(state string) (f judge.Findings) {
	r, err := openState(state)
	if err != nil {
		f.Add(judge.Broken, "the database does not open: %v", err)
		return f
	}
	return x.whole(r)
}

// whole compares the run that stays with what it was.
func (x *removal) whole(r *journal.Record) (f judge.Findings) {
	i := slices.IndexFunc(r.Runs, func(run journal.Run) bool { return run.ID == x.stays })
	if i < 0 {
		f.Add(judge.Broken, "the run that stays is gone")
		return f
	}
	was, is := x.record.Facts[x.record.Runs[0].No], r.Facts[r.Runs[i].No]
	if len(was) != len(is) || r.Runs[i].Status != "completed" {
		f.Add(judge.Broken, "the run that stays is %s and has %d facts of %d", r.Runs[i].Status, len(is), len(was))
		return f
	}
	for k := range is {
		if string(is[k].Digest) != string(was[k].Digest) {
			f.Add(judge.Broken, "fact %d of the run that stays is another", k+1)
		}
	}
	for _, what := range r.Missing { // what is removed may miss its outputs
		if strings.HasPrefix(what, fmt.Sprintf("run number %d:", r.Runs[i].No)) {
			f.Add(judge.Lost, "%s", what)
		}
	}
	return f
}
