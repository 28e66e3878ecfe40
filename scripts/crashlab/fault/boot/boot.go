//go:build linux

// Package boot kills everything and goes on after another start of the machine, with another boot
// id.
package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// restart is a story in which everything dies at a fault point, and goes on after another start of
// the machine.
type restart struct {
	plan.Job
	tries []plan.Arm
	same  bool // the machine was not started anew: the control
}

// key names it, after "boot/".
func (r *restart) key() string {
	return strings.Join([]string{r.tries[0].Point, r.Tool, r.Situation, r.Shape}, "/")
}

// Fault is about another start of the machine.
func Fault() lab.Fault {
	return lab.Fault{
		Name: "boot", What: "everything dies, and what comes later finds another start of the machine",
		Takes: "a mount namespace of its own", Needs: needs, Run: run,
	}
}

func needs(l *lab.Lab) error {
	if err := machine.NeedsBoot(); err != nil || l.Exe == "" {
		return err
	}
	return namesBoots(l.Exe)
}

// namesBoots refuses a binary that is given and was built as for systems on which a boot has no
// name.
func namesBoots(exe string) error {
	home, err := os.MkdirTemp("", "crashlab-boots-")
	if err != nil {
		return err
	}
	c := exec.Command(exe, "doctor")
	c.Env, c.Dir = append(world.PlainEnv(), "HOME="+home), home
	text, err := c.CombinedOutput()
	if err == nil && bytes.Contains(text, []byte("a reboot is taken for a crash")) {
		err = errors.New("to this binary a reboot is a crash")
	}
	return errors.Join(err, os.RemoveAll(home))
}

// run kills everything at every fault point and goes on with another boot id, beside a process that
// looks like what was left of the call.
func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Only == "" {
		if err := bootControl(ctx, l); err != nil {
			return err
		}
	}
	all := restarts()
	if c.Short && c.Only == "" {
		all = plan.Sample(all, 4, c.Seed, func(r *restart) string { return r.Tool })
	}
	var stories []lab.Case
	for _, r := range all {
		stories = append(stories, lab.Case{Key: r.key(), Try: func(ctx context.Context, key string) error {
			t, err := play(ctx, l, r)
			if err != nil {
				return err
			}
			return l.Finish(key, t, 0)
		}})
	}
	return l.RunCases(ctx, "boot", c, stories)
}

// restarts lists the stories: each fault point with two tools that reach it.
func restarts() []*restart {
	var out []*restart
	tools := []string{"shell", "write_file", "shell:write", "fetch", "apply_patch", "shell:read", "ask_user"}
	for i, point := range fault.Driving() {
		taken := 0
		for m := range tools {
			tool := tools[(i+m)%len(tools)]
			situation, shape, ok := plan.StoryPassing(tool, string(point), i+m)
			if !ok || taken == 2 {
				continue
			}
			taken++
			f := plan.NewFamily(tool, situation, shape, string(point), false)
			f.Job.Victim = "both"
			r := &restart{Job: f.Job}
			for c := range 3 {
				r.tries = append(r.tries, plan.Arm{Command: f.First + c, Point: string(point), Pass: 1})
			}
			out = append(out, r)
		}
	}
	return out
}

// markOf is the environment variable that processes of a command carry (tools/runner).
const markOf = "AGENT_CALL"

// play carries a story out and judges it. The caller closes its world.
func play(ctx context.Context, l *lab.Lab, r *restart) (*trial.Trial, error) {
	was, err := l.Intact(ctx, r.Job)
	if err != nil {
		return nil, err
	}
	t, err := l.Begin(r.Job, nil)
	if err != nil {
		return nil, err
	}
	b := &restartTrial{Trial: t, restart: r}
	ended := t.Proceed(ctx, b.step)
	b.checkBystanders()
	e, err := l.Conclude(ctx, t, ended)
	if err != nil {
		return nil, err
	}
	if !b.met {
		l.Report.AddFigure("boot: points not met", 1)
	}
	if len(t.Found) == 0 {
		left := t.Unknown > 0 && (t.Leave || t.Story.Shape == "runbook")
		t.Found = append(t.Found, judge.CompareEnds(was, e, true, left)...)
	}
	return t, nil
}

// restartTrial is a story in the middle of which the machine starts anew.
type restartTrial struct {
	*trial.Trial
	*restart
	met        bool
	bystanders []*exec.Cmd // processes that are no business of the story
}

// step carries out one command, and restarts the machine where that is due.
func (b *restartTrial) step(args []string) error {
	return b.StepHalting(args, b.tries, &b.met, func(s *trial.Halted) error {
		if err := s.Release("both"); err != nil {
			return err
		}
		if _, err := b.WaitEnd(s.Command); err != nil {
			return err
		}
		return b.reboot()
	})
}

// reboot lets nobody live, and has what comes later see another boot id. What looks like a process
// of a call that has not ended is, after a restart, somebody else's.
func (b *restartTrial) reboot() error {
	for _, p := range b.World.Runners() {
		if err := p.Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	b.World.WaitRunners()
	for _, h := range b.Histories {
		for _, c := range h.Calls {
			if c.Tool != "shell" || c.Starts == 0 || len(c.Results) > 0 {
				continue
			}
			if err := b.startBystander(fmt.Sprintf("%s/%d-%d-%d", h.Run.ID, c.Turn, c.Index, c.Starts)); err != nil {
				return err
			}
		}
	}
	running := len(b.Histories) > 0 && b.Histories[len(b.Histories)-1].Run.Status == "running"
	if !b.same {
		boot := filepath.Join(b.World.Root, "boot")
		if err := machine.NewBoot(boot, uint64(b.World.Number)); err != nil {
			return err
		}
		b.World.Launch = machine.View{Boot: boot}.Start
	}
	o, err := b.World.Run(context.Background(), "ls", "--all")
	if err == nil && running && !b.same && !strings.Contains(o.Text, "interrupted (reboot") {
		b.Found.Add(judge.Silent, "the machine was started anew, and agent ls does not say so:\n%s", o.Text)
	}
	return err
}

// startBystander starts a process that carries the mark of a call, and does not belong to it.
func (b *restartTrial) startBystander(mark string) error {
	c := exec.Command("sleep", "300")
	c.Env = append(os.Environ(), markOf+"="+mark)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	b.bystanders = append(b.bystanders, c)
	return nil
}

// checkBystanders looks whether the bystanders live: one that was killed was taken for the process
// of a call from before the restart.
func (b *restartTrial) checkBystanders() {
	for _, c := range b.bystanders {
		p, alive := world.ProcessAt(c.Process.Pid)
		if !alive || p.State == 'Z' {
			b.Found.Add(judge.Twice, "a process that is no business of the call, and was started after the machine was, is killed")
		}
		_ = c.Process.Kill() // as above: one that is gone needs no more
		_ = c.Wait()         // it was killed
	}
	for _, o := range b.World.Outputs {
		if !b.same && len(b.bystanders) > 0 && strings.Contains(o.Text, "may still be running") {
			b.Found.Add(judge.Stuck, "agent %s takes a process of another start of the machine for its own:\n%s", strings.Join(o.Args, " "), o.Text)
		}
	}
}

// bootControl goes on without a new start of the machine: there the process that carries a call's
// mark belongs to the call.
func bootControl(ctx context.Context, l *lab.Lab) error {
	r := &restart{
		Job: plan.Job{Tool: "shell", Situation: "first", Shape: "chat", Victim: "both"}, same: true,
		tries: []plan.Arm{{Command: 0, Point: string(fault.RunnerRunning), Pass: 1}},
	}
	t, err := play(ctx, l, r)
	if err != nil {
		return err
	}
	l.Control("a process of the same start of the machine is taken for the call's", judge.Twice, t.Found)
	return errors.Join(t.World.Close(false))
}
