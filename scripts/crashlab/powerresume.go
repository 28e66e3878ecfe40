//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// try makes one state, judges it or lets the story go on in it, and reports what is found.
func (p *power) try(ctx context.Context, c blackout) error {
	dir, err := p.make(c)
	if err != nil {
		return err
	}
	if !c.resume {
		return p.judged(c, dir)
	}
	t, err := p.reboot(c, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", c.key(p.shape), err)
	}
	err = p.goOn(ctx, t, c)
	switch {
	case errors.Is(err, errStuck):
		t.found.add(stuck, "%v", err)
	case err != nil && !errors.Is(err, errFound):
		return errors.Join(fmt.Errorf("%s: %w\n%s", c.key(p.shape), err, t.world.transcript()), p.leave(t))
	}
	p.lab.report.trouble("power", t, 0)
	p.lab.report.figure("cuts carried on", 1)
	err = p.leave(t)
	if len(t.found) > 0 {
		err = errors.Join(err, t.world.keep(c.key(p.shape)))
	}
	return errors.Join(err, p.verdict(c, dir, t.found))
}

// reboot is the world in the folder that a cut left: every process is dead, and the machine has started anew. What is in it
// finds itself where it was.
func (p *power) reboot(c blackout, dir string) (*tale, error) {
	boot := dir + ".boot"
	if err := newBoot(boot, uint64(c.at)<<32|p.lab.report.Seed&0xffffffff); err != nil {
		return nil, err
	}
	w := &world{number: p.number, exe: p.lab.exe, root: dir, home: filepath.Join(dir, "home"), dir: filepath.Join(dir, "work")}
	w.state = filepath.Join(w.home, "state")
	w.launch = p.stage(dir).start
	p.counter.set(p.outside(c.at))
	var err error
	if w.witness, err = newWitness(p.number, w.dir, p.counter); err != nil {
		return nil, err
	}
	if w.witness.moved, err = p.placed(dir); err != nil {
		return nil, errors.Join(err, w.witness.close())
	}
	t := &tale{story: &p.story, world: w, prompt: p.prompt, brief: p.lab.short}
	if w.server = p.world.server; w.server != nil {
		turns, err := p.story.script()
		if err != nil {
			return nil, errors.Join(err, w.witness.close())
		}
		w.server.retell(fmt.Sprintf("story-%d.", p.number), turns)
	}
	w.env = append(plainEnv(), "HOME="+filepath.Join(p.root, "home"), "AGENT_HOME="+p.runners().state, "NO_COLOR=1")
	w.env = append(w.env, shapeEnv(p.story.shape, w.url())...)
	return t, nil
}

// stage shows a state where the world was, on another boot.
func (p *power) stage(dir string) stage {
	return stage{boot: dir + ".boot", binds: map[string]string{p.root: dir}, dir: filepath.Join(p.root, "work")}
}

// leave ends what a world still runs. Its folder stays for the verdict.
func (p *power) leave(t *tale) error {
	var errs []error
	for _, x := range p.runners().processes() {
		errs = append(errs, x.signal(syscall.SIGKILL))
	}
	return errors.Join(append(errs, t.world.witness.close(), os.RemoveAll(t.world.root+".boot"))...)
}

// goOn does what a person does after a power cut, until the story is told.
func (p *power) goOn(ctx context.Context, t *tale, c blackout) error {
	if err := p.first(t, c); err != nil {
		return err
	}
	args, err := t.next()
	for ; err == nil && args != nil; args, err = t.next() {
		if t.cmd >= mostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", errStuck, t.cmd, strings.Join(args, " "))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := t.step(args); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	p.runners().runnersEnd()
	if err := t.quietEnd(ctx); err != nil {
		return err
	}
	t.found = append(t.found, p.compareHeard(c.at, t.last, t.record)...)
	t.found = append(t.found, p.compareExits(c.at, t.last)...)
	is, err := t.end()
	if err != nil || len(t.found) > 0 {
		return err
	}
	t.found = append(t.found, p.compareAfter(is, t.unknown)...)
	return nil
}

// compareExits says of which calls the outcome is unknown although a record of their end was durable before the cut.
func (p *power) compareExits(at int, all []*history) findings {
	var f findings
	renamed := map[string]bool{}
	for _, op := range p.ops {
		if op.N > at || len(all) == 0 {
			break
		}
		if op.Op == "rename" && filepath.Base(op.To) == "exit" {
			renamed[filepath.Dir(op.To)] = true
		}
		if op.Op != "fsyncdir" || !renamed[op.Path] {
			continue
		}
		var turn, index int64
		if _, err := fmt.Sscanf(filepath.Base(op.Path), "%d-%d-", &turn, &index); err != nil {
			continue // no folder of a call
		}
		if c := all[0].call(turn, index); c != nil && len(c.results) > 0 && c.results[0].Result.Outcome == "unknown" {
			f.add(needless, "call %d.%d (%s) left a durable record of its end before the cut, and its outcome is told as unknown", turn, index, c.tool)
		}
	}
	return f
}

// compareAfter says in what the story ended otherwise than the one whose power was not cut. A step of a runbook whose outcome is
// unknown is not done again, whatever is answered. And a state is a copy of a disk: its files have other numbers, so that tools
// which look at files ask where on the disk itself they would know. What they had begun then stays beside them.
func (p *power) compareAfter(is end, unknown int) findings {
	if unknown > 0 && p.story.shape == "runbook" {
		return nil
	}
	if unknown > 0 {
		maps.DeleteFunc(is.files, func(name, _ string) bool { return strings.HasPrefix(name, ".agent-tmp-") })
	}
	return compareEnds(p.end, is, true, false)
}

// first looks at what the cut left, asks what was interrupted, and lets all of it go on.
func (p *power) first(t *tale, c blackout) error {
	r, err := load(t.world.state, t.world.root)
	if err != nil {
		t.found.add(broken, "the database does not open after the cut: %v", err)
		return errFound
	}
	var f findings
	t.last, f = check(r, func(string) bool { return true })
	if t.found = append(t.found, f...); len(f) > 0 {
		return errFound
	}
	before := t.last
	if err := t.step([]string{"ls", "--interrupted"}); err != nil {
		return err
	}
	said := t.world.outputs[len(t.world.outputs)-1].text
	for _, h := range before {
		if going := h.run.status == "running" || h.run.status == "interrupted"; going && !strings.Contains(said, h.run.id) {
			t.found.add(silent, "run %s was %s when the power was cut, and agent ls --interrupted does not name it:\n%s", h.run.id, h.run.status, said)
		}
	}
	return t.step([]string{"resume", "--all"})
}
