//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// slowStory is a story on a slow disk, with other processes at the same state.
type slowStory struct {
	others string // look, answer, resume or cancel: what the others do
	wait   time.Duration
}

// key names it, after "slow/".
func (c slowStory) key() string { return fmt.Sprintf("%s/%d", c.others, c.wait.Milliseconds()) }

// Slow is about a disk that takes its time.
func Slow() lab.Fault {
	return lab.Fault{
		Name: "slow", What: "every fsync takes its time, and several processes work on one state",
		Takes: "a mount namespace of its own and FUSE", Needs: needsIO, Run: runSlow,
	}
}

// runSlow lets every fsync take its time while several processes work on one state.
func runSlow(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	exe, err := machine.BuildDisk(ctx, l.Dir)
	if err != nil {
		return err
	}
	if c.Only == "" {
		slowControl(l)
	}
	var all []slowStory
	for _, wait := range []time.Duration{50, 150, 300} {
		for _, what := range []string{"look", "answer", "resume", "cancel"} {
			all = append(all, slowStory{what, wait * time.Millisecond})
		}
	}
	if c.Short && c.Only == "" {
		all = all[:4:4]
		all = []slowStory{all[c.Seed%2], all[2+c.Seed%2]}
	}
	var stories []lab.Case
	for _, s := range all {
		stories = append(stories, lab.Case{Key: s.key(), Try: func(ctx context.Context, key string) error { return playSlow(ctx, l, exe, key, s) }})
	}
	return l.RunCases(ctx, "slow", c, stories)
}

// playSlow carries a story out and judges it.
func playSlow(ctx context.Context, l *lab.Lab, exe, key string, s slowStory) error {
	j := plan.Job{Tool: "shell", Situation: "first", Shape: "chat", Victim: "host"}
	switch s.others {
	case "answer":
		j.Situation = "question"
	case "cancel":
		j.Change = func(s *story.Story) {
			mark := marks.Find(s.Turns[0][0].Args["command"].(string))[0]
			s.Turns[0][0] = story.Step{Tool: "shell", Args: map[string]any{"command": "echo " + mark + " >> effects; sleep 1000"}}
		}
	}
	var was judge.End
	var err error
	if s.others != "cancel" {
		if was, err = l.Intact(ctx, j); err != nil {
			return err
		}
	}
	var d *machine.Disk
	t, err := l.Begin(j, served(exe, "home", &d))
	if err != nil {
		return err
	}
	t.World.Env = append(t.World.Env, "AGENT_ALLOW_UNSAFE_FS=1") // a disk that is a program is refused, rightly, without it
	t.Brief = true                                               // doctor would say that about the disk
	if err := d.Slow("fsync", "", s.wait); err != nil {
		return errors.Join(err, t.World.Close(false))
	}
	first := true
	e, err := l.Conclude(ctx, t, t.Proceed(ctx, func(args []string) error {
		if s.others == "answer" != (args[0] == "answer") || !first {
			return t.Step(args)
		}
		first = false
		return runBesideOthers(t, s, args)
	}))
	if err != nil {
		return err
	}
	if s.others == "cancel" {
		if e.Status != "cancelled" {
			t.Found.Add(judge.Differs, "the run was cancelled, and ends %s", e.Status)
		}
	} else if len(t.Found) == 0 {
		t.Found = append(t.Found, judge.CompareEnds(was, e, false, false)...)
	}
	return l.Finish(key, t, 0)
}

// runBesideOthers carries a command out with others beside it.
func runBesideOthers(t *trial.Trial, s slowStory, args []string) error {
	t.Commands++
	main, err := t.World.Start("", args...)
	if err != nil {
		return err
	}
	if s.others == "answer" { // the same answer from another process
		second, err := t.World.Start("", args...)
		if err != nil {
			return errors.Join(err, trial.Abort(main))
		}
		first, ok1 := main.Wait()
		other, ok2 := second.Wait()
		if !ok1 || !ok2 {
			return fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(args, " "), world.ErrLate, world.Limit)
		}
		onlyOne(t, first, other)
		return t.Look()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, other := range [][]string{{"ls", "--all"}, {"pending"}, {"show", "last"}} {
		wg.Go(func() { beside(t, &mu, main, other) })
	}
	err = intervene(t, &mu, s, main)
	wg.Wait()
	if err != nil {
		return errors.Join(err, trial.Abort(main))
	}
	_, err = t.WaitEnd(main)
	return err
}

// beside carries a command out again and again until main has ended.
func beside(t *trial.Trial, mu *sync.Mutex, main *world.Command, args []string) {
	for {
		select {
		case <-main.Ended:
			return
		default:
		}
		o, err := t.World.Run(context.Background(), args...)
		mu.Lock()
		if err != nil {
			t.Found.Add(judge.Stuck, "%v", err)
		}
		t.Found = append(t.Found, refusal(o)...)
		mu.Unlock()
		if err != nil {
			return
		}
	}
}

// refusal says whether a command that only shows something was refused. Before the first run there
// is nothing to show.
func refusal(o judge.Output) judge.Findings {
	var f judge.Findings
	if o.Code != 0 && !strings.Contains(o.Text, "nothing was run yet") {
		f.Add(judge.Refused, "agent %s ends with %d beside another process on a slow disk:\n%s", strings.Join(o.Args, " "), o.Code, o.Text)
	}
	return f
}

// onlyOne wants one answer to count, and the other process to say so.
func onlyOne(t *trial.Trial, a, b judge.Output) {
	if a.Code == 1 {
		a, b = b, a
	}
	if a.Code == 1 || b.Code != 1 && b.Code != a.Code || b.Code == 1 && !strings.Contains(b.Text, "answered it") && !strings.Contains(b.Text, "is kept") {
		t.Found.Add(judge.Refused, "two processes give the same answer: one ends with %d and the other with %d:\n%s\n%s", a.Code, b.Code, a.Text, b.Text)
	}
}

// intervene does to the run of main what the story is about, once its first command is running.
func intervene(t *trial.Trial, mu *sync.Mutex, s slowStory, main *world.Command) error {
	if s.others == "look" || !busy(t.World, main) {
		return nil
	}
	o, err := t.World.Run(context.Background(), s.others, "last")
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	switch {
	case s.others == "cancel" && o.Code != 0 && o.Code != 6:
		t.Found.Add(judge.Refused, "agent cancel ends with %d on a slow disk:\n%s", o.Code, o.Text)
	case s.others == "resume" && o.Code == 1 && !strings.Contains(o.Text, "show --follow") && !strings.Contains(o.Text, "can be resumed"): // it has ended
		t.Found.Add(judge.Refused, "agent resume of a run that is driven is refused without who drives it:\n%s", o.Text)
	}
	return nil
}

// busy waits until a runner is at work; false when main ended before.
func busy(w *world.World, main *world.Command) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if len(w.Runners()) > 0 {
			return true
		}
		select {
		case <-tick.C:
		case <-main.Ended:
			return false
		}
	}
}

// slowControl judges what a process prints that does not wait for another.
func slowControl(l *lab.Lab) {
	l.Control("a process is refused for another's slow commit", judge.Refused, refusal(judge.Output{Args: []string{"ls"}, Code: 1, Text: "agent: database is locked\n"}))
}
