//go:build linux

package power

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/model"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// try makes one state, judges it or lets the story go on in it, and reports what is found.
func (p *recording) try(ctx context.Context, c cut) error {
	dir, err := p.makeState(c)
	if err != nil {
		return err
	}
	if !c.resume {
		return p.judgeState(c, dir)
	}
	t, err := p.reboot(c, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", c.key(p.shape), err)
	}
	err = p.goOn(ctx, t, c)
	switch {
	case errors.Is(err, world.ErrStuck):
		t.Found.Add(judge.Stuck, "%v", err)
	case err != nil && !errors.Is(err, trial.ErrFound):
		return errors.Join(fmt.Errorf("%s: %w\n%s", c.key(p.shape), err, t.World.Transcript()), p.closeTrial(t))
	}
	p.lab.Report.CountFault("power", t, 0)
	p.lab.Report.AddFigure("cuts carried on", 1)
	err = p.closeTrial(t)
	if len(t.Found) > 0 {
		err = errors.Join(err, t.World.SaveTranscript(c.key(p.shape)))
	}
	return errors.Join(err, p.report(c, dir, t.Found))
}

// reboot is the world in the folder that a cut left: every process is dead, and the machine has
// started anew. What is in it finds itself where it was.
func (p *recording) reboot(c cut, dir string) (*trial.Trial, error) {
	boot := dir + ".boot"
	if err := machine.NewBoot(boot, uint64(c.at)<<32|p.lab.Report.Seed&0xffffffff); err != nil {
		return nil, err
	}
	w := &world.World{Number: p.number, Exe: p.lab.Exe, Root: dir, Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "work")}
	w.State = filepath.Join(w.Home, "state")
	w.Launch = p.stage(dir).Start
	p.counter.Set(p.outside(c.at))
	var err error
	if w.Witness, err = world.NewWitness(p.number, w.Dir, p.counter); err != nil {
		return nil, err
	}
	if w.Witness.Moved, err = p.placed(dir); err != nil {
		return nil, errors.Join(err, w.Witness.Close())
	}
	t := &trial.Trial{Story: &p.story, World: w, Prompt: p.prompt, Brief: p.lab.Short}
	if w.Model = p.world.Model; w.Model != nil {
		turns, err := p.story.Script()
		if err != nil {
			return nil, errors.Join(err, w.Witness.Close())
		}
		w.Model.Reset(fmt.Sprintf("story-%d.", p.number), turns)
	}
	w.Env = append(world.PlainEnv(), "HOME="+filepath.Join(p.root, "home"), "AGENT_HOME="+p.runners().State, "NO_COLOR=1")
	w.Env = append(w.Env, model.Env(p.story.Shape, w.URL())...)
	return t, nil
}

// stage shows a state where the world was, on another boot.
func (p *recording) stage(dir string) machine.View {
	return machine.View{Boot: dir + ".boot", Binds: map[string]string{p.root: dir}, Dir: filepath.Join(p.root, "work")}
}

// closeTrial ends what a world still runs. Its folder stays for the verdict.
func (p *recording) closeTrial(t *trial.Trial) error {
	var errs []error
	for _, x := range p.runners().Runners() {
		errs = append(errs, x.Signal(syscall.SIGKILL))
	}
	return errors.Join(append(errs, t.World.Witness.Close(), os.RemoveAll(t.World.Root+".boot"))...)
}

// goOn does what a person does after a power cut, until the story is at its end.
func (p *recording) goOn(ctx context.Context, t *trial.Trial, c cut) error {
	if err := p.afterCut(t, c); err != nil {
		return err
	}
	args, err := t.Next()
	for ; err == nil && args != nil; args, err = t.Next() {
		if t.Commands >= trial.MostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", world.ErrStuck, t.Commands, strings.Join(args, " "))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := t.Step(args); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	p.runners().WaitRunners()
	if err := t.CheckAtEnd(ctx); err != nil {
		return err
	}
	t.Found = append(t.Found, p.compareShown(c.at, t.Histories, t.Record)...)
	t.Found = append(t.Found, p.compareExits(c.at, t.Histories)...)
	is, err := t.End()
	if err != nil || len(t.Found) > 0 {
		return err
	}
	t.Found = append(t.Found, p.compareAfter(is, t.Unknown)...)
	return nil
}

// compareExits says of which calls the outcome is unknown although a record of their end was
// durable before the cut.
func (p *recording) compareExits(at int, all []*judge.History) judge.Findings {
	var f judge.Findings
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
		if c := all[0].Call(turn, index); c != nil && len(c.Results) > 0 && c.Results[0].Result.Outcome == "unknown" {
			f.Add(judge.Needless, "call %d.%d (%s) left a durable record of its end before the cut, and its outcome is recorded as unknown", turn, index, c.Tool)
		}
	}
	return f
}

// compareAfter says in what the story ended otherwise than the one whose power was not cut. A step
// of a runbook whose outcome is unknown is not done again, whatever is answered. And a state is a
// copy of a disk: its files have other numbers, so that tools which look at files ask where on the
// disk itself they would know. What they had begun then stays beside them.
func (p *recording) compareAfter(is judge.End, unknown int) judge.Findings {
	if unknown > 0 && p.story.Shape == "runbook" {
		return nil
	}
	if unknown > 0 {
		maps.DeleteFunc(is.Files, func(name, _ string) bool { return strings.HasPrefix(name, ".agent-tmp-") })
	}
	return judge.CompareEnds(p.end, is, true, false)
}

// afterCut looks at what the cut left, asks what was interrupted, and lets all of it go on.
func (p *recording) afterCut(t *trial.Trial, c cut) error {
	r, err := journal.Load(t.World.State, t.World.Root)
	if err != nil {
		t.Found.Add(judge.Broken, "the database does not open after the cut: %v", err)
		return trial.ErrFound
	}
	var f judge.Findings
	t.Histories, f = judge.Check(r, func(string) bool { return true })
	if t.Found = append(t.Found, f...); len(f) > 0 {
		return trial.ErrFound
	}
	before := t.Histories
	if err := t.Step([]string{"ls", "--interrupted"}); err != nil {
		return err
	}
	listed := t.World.Outputs[len(t.World.Outputs)-1].Text
	for _, h := range before {
		if going := h.Run.Status == "running" || h.Run.Status == "interrupted"; going && !strings.Contains(listed, h.Run.ID) {
			t.Found.Add(judge.Silent, "run %s was %s when the power was cut, and agent ls --interrupted does not name it:\n%s", h.Run.ID, h.Run.Status, listed)
		}
	}
	return t.Step([]string{"resume", "--all"})
}
