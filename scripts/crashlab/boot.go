//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"agent/recovery/fault"
)

// restart is a story in which everything dies at a fault point, and goes on after another start of the machine.
type restart struct {
	job
	tries []arm
	same  bool // the machine was not started anew: the control
}

// key names it, after "boot/".
func (r *restart) key() string {
	return strings.Join([]string{r.tries[0].point, r.tool, r.situation, r.shape}, "/")
}

// bootTrouble is about another start of the machine.
func bootTrouble() trouble {
	return trouble{
		name: "boot", what: "everything dies, and what comes later finds another start of the machine",
		takes: "a mount namespace of its own", needs: needsRestart, run: runBoot,
	}
}

func needsRestart(*lab) error { return needsBoot() }

// runBoot kills everything at every fault point and goes on with another boot id, beside a process that looks like what was left
// of the call.
func runBoot(ctx context.Context, l *lab, c troubleChoice) error {
	if c.only == "" {
		if err := bootControl(ctx, l); err != nil {
			return err
		}
	}
	all := restarts()
	if c.short && c.only == "" {
		all = sample(all, 4, c.seed, func(r *restart) string { return r.tool })
	}
	var stories []ordeal
	for _, r := range all {
		stories = append(stories, ordeal{r.key(), func(ctx context.Context, key string) error {
			t, err := playRestart(ctx, l, r)
			if err != nil {
				return err
			}
			return l.verdictOn(key, t, 0)
		}})
	}
	return l.ordeals(ctx, "boot", c, stories)
}

// restarts lists the stories: each fault point with two tools that come by it.
func restarts() []*restart {
	var out []*restart
	tools := []string{"shell", "write_file", "shell:write", "fetch", "apply_patch", "shell:read", "ask_user"}
	for i, point := range fault.All() {
		taken := 0
		for m := range tools {
			tool := tools[(i+m)%len(tools)]
			situation, shape, ok := teller(tool, string(point), i+m)
			if !ok || taken == 2 {
				continue
			}
			taken++
			f := newFamily(tool, situation, shape, string(point), false)
			f.job.victim = "both"
			r := &restart{job: f.job}
			for c := range 3 {
				r.tries = append(r.tries, arm{f.first + c, string(point), 1})
			}
			out = append(out, r)
		}
	}
	return out
}

// markOf is the environment variable that processes of a command carry (tools/runner).
const markOf = "AGENT_CALL"

// playRestart carries a story out and judges it. The caller closes its world.
func playRestart(ctx context.Context, l *lab, r *restart) (*tale, error) {
	was, err := l.of(ctx, r.job)
	if err != nil {
		return nil, err
	}
	t, err := l.begin(r.job, nil)
	if err != nil {
		return nil, err
	}
	b := &booted{tale: t, restart: r}
	told := t.proceed(ctx, b.step)
	b.end()
	e, err := l.conclude(ctx, t, told)
	if err != nil {
		return nil, err
	}
	if !b.met {
		l.report.figure("boot: points not met", 1)
	}
	if len(t.found) == 0 {
		left := t.unknown > 0 && (t.leave || t.story.shape == "runbook")
		t.found = append(t.found, compareEnds(was, e, true, left)...)
	}
	return t, nil
}

// booted is a story on its way over a restart.
type booted struct {
	*tale
	*restart
	met     bool
	strange []*exec.Cmd // processes that are no business of the story
}

// step carries out one command, and restarts the machine where that is due.
func (b *booted) step(args []string) error {
	return b.stepOver(args, b.tries, &b.met, func(s *standing) error {
		if err := s.goOn("both"); err != nil {
			return err
		}
		if _, err := b.over(s.command); err != nil {
			return err
		}
		return b.reboot()
	})
}

// reboot lets nobody live, and has what comes later see another boot id. What looks like a process of a call that has not ended
// is, after a restart, somebody else's.
func (b *booted) reboot() error {
	for _, p := range b.world.processes() {
		if err := p.signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	b.world.runnersEnd()
	for _, h := range b.last {
		for _, c := range h.calls {
			if c.tool != "shell" || c.starts == 0 || len(c.results) > 0 {
				continue
			}
			if err := b.bystander(fmt.Sprintf("%s/%d-%d-%d", h.run.id, c.turn, c.index, c.starts)); err != nil {
				return err
			}
		}
	}
	running := len(b.last) > 0 && b.last[len(b.last)-1].run.status == "running"
	if !b.same {
		boot := filepath.Join(b.world.root, "boot")
		if err := newBoot(boot, uint64(b.world.number)); err != nil {
			return err
		}
		b.world.launch = stage{boot: boot}.start
	}
	o, err := b.world.agent(context.Background(), "ls", "--all")
	if err == nil && running && !b.same && !strings.Contains(o.text, "interrupted (reboot") {
		b.found.add(silent, "the machine was started anew, and agent ls does not say so:\n%s", o.text)
	}
	return err
}

// bystander starts a process that carries the mark of a call, and is not its.
func (b *booted) bystander(mark string) error {
	c := exec.Command("sleep", "300")
	c.Env = append(os.Environ(), markOf+"="+mark)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	b.strange = append(b.strange, c)
	return nil
}

// end looks after the bystanders: who had to die for a call of another start of the machine was taken for its process.
func (b *booted) end() {
	for _, c := range b.strange {
		p, alive := processAt(c.Process.Pid)
		if !alive || p.state == 'Z' {
			b.found.add(twice, "a process that is no business of the call, and was started after the machine was, is killed")
		}
		_ = c.Process.Kill() // as above: one that is gone needs no more
		_ = c.Wait()         // it was killed
	}
	for _, o := range b.world.outputs {
		if !b.same && len(b.strange) > 0 && strings.Contains(o.text, "may still be running") {
			b.found.add(stuck, "agent %s takes a process of another start of the machine for its own:\n%s", strings.Join(o.args, " "), o.text)
		}
	}
}

// bootControl goes on without a new start of the machine: there the process that carries a call's mark has to be its.
func bootControl(ctx context.Context, l *lab) error {
	r := &restart{
		job: job{tool: "shell", situation: "first", shape: "chat", victim: "both"}, same: true,
		tries: []arm{{0, string(fault.RunnerRunning), 1}},
	}
	t, err := playRestart(ctx, l, r)
	if err != nil {
		return err
	}
	l.control("a process of the same start of the machine is taken for the call's", twice, t.found)
	return errors.Join(t.world.close(false))
}
