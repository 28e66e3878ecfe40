//go:build linux

package witness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/recovery/fault"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// Late is the kind of finding of an effect that nobody was allowed any more.
const Late = "effect though another host has the run"

// attempt is a script on its way.
type attempt struct {
	*trial.Trial
	*stand
	script *script
	was    judge.End // of the same story without a witness and without a kill
	is     judge.End
	rng    *rand.Rand // chooses moments at which commands are killed; nil for none
	left   int        // of those moments
	kills  int        // of the witness, and by chance
	here   bool       // commands drive themselves from now on
}

// carryOut carries out a script, with a kill where it is not nowhere. change alters how; nil for
// nothing. The caller judges it and closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s *script, a plan.Arm, change func(*attempt)) (*attempt, error) {
	var was judge.End
	j := s.Job
	if s.parts {
		j.Change = delegates
	} else {
		var err error
		if was, err = l.Intact(ctx, s.Job); err != nil {
			return nil, err
		}
	}
	j.Arms = slices.Clone(s.Arms)
	if a.Point != "" {
		j.Arms = append(j.Arms, a)
	}
	if s.then != "" {
		j.Arms = append(j.Arms, plan.Arm{Command: a.Command + 1, Point: string(s.then), Pass: 1})
	}
	t, err := l.Begin(j, nil)
	if err != nil {
		return nil, err
	}
	x := &attempt{Trial: t, script: s, was: was}
	if s.parts {
		if err := x.addParts(); err != nil {
			return nil, errors.Join(err, t.World.Close(false))
		}
	}
	if s.moment > 0 {
		x.rng, x.left = rand.New(rand.NewPCG(s.moment, 0)), 4
	}
	if x.stand, err = newStand(s, t.World); err == nil {
		err = x.configure()
	}
	if err != nil {
		return nil, errors.Join(err, t.World.Close(true))
	}
	if change != nil {
		change(x)
	}
	x.is, err = l.Conclude(ctx, t, x.proceed(ctx))
	if err := errors.Join(err, x.stand.close()); err != nil {
		return nil, fmt.Errorf("%s: %w", s.key(), err)
	}
	x.kills += x.stand.kills
	return x, nil
}

// patience is how long a run waits for a witness that stays away.
const patience = time.Second

// configure names the witness to the runs of the world: by the configuration, or by the
// environment.
func (x *attempt) configure() error {
	text := "\n[witness]\n"
	if x.script.staysAway() {
		text += fmt.Sprintf("patience = %q\n", patience)
	}
	if plan.Pick(2, x.script.key()) == 0 {
		text += fmt.Sprintf("address = %q\n", x.stand.address())
	} else {
		x.World.Env = append(x.World.Env, "AGENT_WITNESS="+x.stand.address())
	}
	f, err := os.OpenFile(filepath.Join(x.World.Home, ".config", "agent", "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// proceed carries the story to its end: that of the run, or that here, where another host has it.
func (x *attempt) proceed(ctx context.Context) error {
	for over := 0; ; {
		args, err := x.next()
		if args == nil || err != nil {
			return err
		}
		if x.stand.given() {
			if over++; over > 1 && x.moved() {
				return x.stays(ctx)
			}
		}
		if x.Commands >= trial.MostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", world.ErrStuck, x.Commands, strings.Join(args, " "))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.step(args); err != nil {
			return err
		}
	}
}

// step carries out a command, and looks at the log.
func (x *attempt) step(args []string) error {
	dead, err := x.command(args)
	withheld, helped := x.stand.recover()
	if err := errors.Join(err, helped); err != nil {
		return err
	}
	saw, err := x.World.Witness.Counts()
	if err != nil {
		return err
	}
	logs := x.logs()
	var f judge.Findings
	if x.stand.torn {
		f.Add(judge.Forked, "an older copy of the log was written to, though the last place of the whole one was seen")
	}
	f = append(f, judge.CompareLogs(x.Record, x.Histories, logs, saw)...)
	f = append(f, judge.CompareCauses(x.Record, x.stand.given(), x.script.staysAway())...)
	if !dead && !withheld && !x.stand.given() {
		f = append(f, judge.CompareHeard(x.Record, logs)...)
	}
	if x.Found = append(x.Found, f...); len(f) > 0 {
		return trial.ErrFound
	}
	return nil
}

// command carries out a command, and kills it where chance says so. It says whether who drives was
// killed.
func (x *attempt) command(args []string) (dead bool, err error) {
	switch {
	case x.script.trouble == asleep && !x.stand.given():
		return false, x.asleep(args)
	case x.script.detached && !x.here:
		return x.inBackground(args)
	}
	if x.rng == nil || x.left == 0 {
		err = x.Step(args)
		return len(x.World.Outputs) > 0 && x.World.Outputs[len(x.World.Outputs)-1].Killed, err
	}
	x.left--
	dead, err = x.StepKilling(args, time.Duration(30_000+x.rng.IntN(500_000))*time.Microsecond)
	if dead {
		x.kills++
	}
	return dead, err
}

// asleepFor is longer than the word of a witness holds.
const asleepFor = 5200 * time.Millisecond

// asleep stops who drives behind an answer of the witness, gives the run to another host, and lets
// it go on after a while: nothing that the answer allowed begins any more.
func (x *attempt) asleep(args []string) error {
	s, err := x.Halt(args, plan.Arm{Command: x.Commands, Point: string(fault.AfterWitness), Pass: x.script.entry})
	if s == nil || err != nil {
		return err
	}
	x.Fired = x.Fired[:len(x.Fired)-1] // nobody was killed
	before, err := x.World.Witness.Counts()
	if err != nil {
		return err
	}
	x.stand.give()
	<-time.After(asleepFor)
	if err := s.Release(""); err != nil {
		return err
	}
	if _, err := x.WaitEnd(s.Command); err != nil {
		return err
	}
	after, err := x.World.Witness.Counts()
	if err == nil && fmt.Sprint(before) != fmt.Sprint(after) {
		x.Found.Add(Late, "who drives slept when host %s took the run, and then: the effects were %v and are %v", otherHost, before, after)
	}
	return err
}

// inBackground has a command hand its run over to a process of the run's own, and waits until that
// one has ended: it does not stay for an answer. Who was to be killed may have been.
func (x *attempt) inBackground(args []string) (dead bool, err error) {
	var arms []string
	var armed []plan.Arm
	for _, a := range x.Arms {
		if a.Command == x.Commands {
			arms, armed = append(arms, fmt.Sprintf("drive:%s:%d", a.Point, a.Pass)), append(armed, a)
		}
	}
	x.Commands++
	c, err := x.World.Start(strings.Join(arms, ","), slices.Insert(slices.Clone(args), 1, "--detach")...)
	if err != nil {
		return false, err
	}
	o, ok := c.Wait()
	if !ok || !x.World.WaitDrivers(func() bool { return false }) {
		return false, fmt.Errorf("%w: agent %s in the background: %w", world.ErrStuck, strings.Join(args, " "), world.ErrLate)
	}
	if err := x.Look(); err != nil {
		return false, err
	}
	if x.crashed() || o.Code != 0 {
		x.Fired = append(x.Fired, armed...)
	}
	return len(armed) > 0, nil
}

// crashed says that nobody drives the run any more, and who did left it as it was.
func (x *attempt) crashed() bool {
	h := x.top()
	if h == nil {
		return false
	}
	facts := x.Record.Facts[h.Run.No]
	last := facts[len(facts)-1]
	b, err := last.Decode()
	return h.Run.Status == "running" || h.Run.Status == "queued" || err == nil && last.Kind == journal.Interrupted && b.Cause == "crash"
}

// top is the run that a person goes on with: the newest that is not below another; nil for none.
func (x *attempt) top() *judge.History {
	for _, h := range slices.Backward(x.Histories) {
		if h.Parent == "" {
			return h
		}
	}
	return nil
}

// moved says that the run is left because another host has it.
func (x *attempt) moved() bool {
	h := x.top()
	if h == nil || h.Run.Status != "interrupted" {
		return false
	}
	for _, f := range slices.Backward(x.Record.Facts[h.Run.No]) {
		if b, err := f.Decode(); err == nil && b.Cause != "" {
			return b.Cause == judge.Moved
		}
	}
	return false
}

// stays sees to it that nothing goes on here of a run that another host has, and that its name is
// printed.
func (x *attempt) stays(ctx context.Context) error {
	before, err := x.World.Witness.Counts()
	if err != nil {
		return err
	}
	run := x.top().Run.ID
	x.here, x.Arms = true, nil
	if err := x.step([]string{"resume", run}); err != nil {
		return err
	}
	after, err := x.World.Witness.Counts()
	if err != nil {
		return err
	}
	o := x.World.Outputs[len(x.World.Outputs)-1]
	if o.Code == 0 || !strings.Contains(o.Text, "to host "+otherHost) {
		x.Found.Add(judge.Silent, "agent resume %s of a run that host %s has ends with %d: %s", run, otherHost, o.Code, o.Text)
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		x.Found.Add(Late, "host %s has run %s, and here it goes on: the effects were %v and are %v", otherHost, run, before, after)
	}
	if len(x.Found) > 0 {
		return trial.ErrFound
	}
	return ctx.Err()
}
