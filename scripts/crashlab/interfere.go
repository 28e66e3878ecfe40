//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/recovery/fault"
)

// interference is a story in which somebody interferes while one of its commands, or a runner of its, stands still at a fault point.
type interference struct {
	job
	way   string // what is done
	own   string // the fault point at which the process that interferes is killed itself; "" for nowhere
	tries []arm  // of the story's commands; the first that is met is the one
}

// key names it, after the name of its kind and a slash.
func (i *interference) key() string {
	own := i.own
	if own == "" {
		own = "-"
	}
	return strings.Join([]string{i.way, i.tries[0].point, own, i.tool, i.situation, i.shape}, "/")
}

// interferer is a kind of interference. Each is a line of troubles.
type interferer struct {
	name, what string
	all        func() []*interference
	short      int // how many of them the short pass holds, of as many ways as it can
	act        func(b *interfered, s *standing) error
	step       func(b *interfered, args []string) error  // carries a command out in place of a stand still and act; nil for those
	judge      func(b *interfered, was, is end) findings // of a story that was interfered with, at its end
	control    func(ctx context.Context, l *lab, k interferer) error
}

func (k interferer) trouble() trouble {
	return trouble{name: k.name, what: k.what, needs: func(*lab) error { return nil }, run: k.run}
}

// run carries the stories out that were asked for.
func (k interferer) run(ctx context.Context, l *lab, c troubleChoice) error {
	if c.only == "" {
		if err := k.control(ctx, l, k); err != nil {
			return err
		}
	}
	all := k.all()
	if c.short && c.only == "" {
		all = slices.DeleteFunc(all, func(i *interference) bool { return i.own != "" && !slices.Contains(everybodys(), i.own) })
		all = sample(all, k.short, c.seed, func(i *interference) string { return i.way + " " + i.own })
	}
	var stories []ordeal
	for _, i := range all {
		stories = append(stories, ordeal{i.key(), func(ctx context.Context, key string) error {
			b, is, err := interfere(ctx, l, k, i)
			if err != nil {
				return err
			}
			if len(b.found) == 0 {
				b.found = k.judge(b, b.was, is)
			}
			return l.verdictOn(key, b.tale, b.kills)
		}})
	}
	return l.ordeals(ctx, k.name, c, stories)
}

// interfered is such a story on its way.
type interfered struct {
	*tale
	*interference
	was   end    // of the same story without interference
	met   bool   // it came by the point
	run   string // that was interfered with; "" where there was none yet
	ended string // how that run stood when nobody interfered any more
	saw   map[string]int
	kills int  // that are no arms of the story
	fell  bool // the process that interferes was killed at its own point
}

// interfere carries a story out. The caller judges it and closes its world.
func interfere(ctx context.Context, l *lab, k interferer, i *interference) (*interfered, end, error) {
	was, err := l.of(ctx, i.job)
	if err != nil {
		return nil, end{}, err
	}
	t, err := l.begin(i.job, nil)
	if err != nil {
		return nil, end{}, err
	}
	b := &interfered{tale: t, interference: i, was: was}
	told := t.proceed(ctx, func(args []string) error {
		if k.step != nil {
			return k.step(b, args)
		}
		return t.stepOver(args, i.tries, &b.met, func(s *standing) error { return b.suffer(s, k.act) })
	})
	is, err := l.conclude(ctx, t, told)
	if err != nil {
		return nil, end{}, err
	}
	if !b.met {
		l.report.figure(k.name+": points not met", 1)
	}
	if b.run == "" {
		l.report.figure(k.name+": nothing to interfere with", 1)
	}
	if i.own != "" && b.run != "" && !b.fell {
		l.report.figure(k.name+": own points not met", 1)
	}
	return b, is, nil
}

// suffer finds the run of a command that stands still, and has it interfered with.
func (b *interfered) suffer(s *standing, act func(*interfered, *standing) error) error {
	if err := b.look(); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	if len(b.last) > 0 {
		h := b.last[len(b.last)-1]
		b.run = h.run.id
	}
	if err := act(b, s); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	b.holds = s.arm.inRunner() // a runner that comes by the point only now stands still there
	if err := b.look(); err != nil {
		return err
	}
	for _, h := range b.last {
		if h.run.id == b.run {
			b.ended = h.run.status
		}
	}
	saw, err := b.world.witness.counts()
	b.saw = saw
	return err
}

// release lets everybody go on and waits for the end of the command.
func (b *interfered) release(s *standing) (output, error) {
	if err := s.goOn(""); err != nil {
		return output{}, err
	}
	if err := s.escort(); err != nil {
		return output{}, err
	}
	return b.await(s.command)
}

// await waits for a command that is about to end.
func (b *interfered) await(c *command) (output, error) {
	o, ok, err := b.attend(c)
	if err == nil && !ok {
		err = fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(c.args, " "), errLate, limit)
	}
	if err == nil && o.code == 2 {
		err = fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(c.args, " "), o.text)
	}
	return o, err
}

// other starts the process that interferes, with the point armed at which it is killed itself.
func (b *interfered) other(args ...string) (*command, error) {
	b.cmd++
	arm := ""
	if b.own != "" {
		arm = b.own + ":1"
	}
	return b.world.start(arm, args...)
}

// insists waits for the process that interferes. Where it was killed at its own point, a person gives the same command once more.
func (b *interfered) insists(c *command, wait func(*command) (output, error)) (output, error) {
	o, err := wait(c)
	if err != nil || !o.killed {
		return o, err
	}
	b.fell = true
	b.kills++
	b.cmd++
	if c, err = b.world.start("", c.args...); err != nil {
		return o, err
	}
	return wait(c)
}

// awaitLetting waits for a command that waits for a runner which stands still, and lets that go on once it is seen.
func (b *interfered) awaitLetting(c *command) (output, error) {
	let := make(chan error, 1)
	go func() { let <- b.letGo(c) }()
	o, err := b.await(c)
	return o, errors.Join(err, <-let)
}

// hears waits until a command has printed the words, has ended, or prints nothing of the kind for a while.
func hears(c *command, words string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(attachPatience)
	for !strings.Contains(c.text.String(), words) {
		select {
		case <-tick.C:
		case <-c.ended:
			return
		case <-late:
			return
		}
	}
}

// unhurt judges a story in which no runner was killed: it ends as if nobody had interfered, and every tool that can find out knows
// what came of its call.
func unhurt(b *interfered, was, is end) findings {
	var f findings
	for _, c := range b.needless {
		f.add(needless, "no runner was killed, and the outcome of call %s is told as unknown", c)
	}
	left := b.unknown > 0 && (b.leave || b.story.shape == "runbook")
	return append(f, compareEnds(was, is, b.unknown > 0, left)...)
}

// everybodys are points that every command comes by which changes a run.
func everybodys() []string {
	return []string{string(fault.Started), string(fault.BeforeCommit), string(fault.AfterCommit)}
}

// interferingTools are those whose stories are interfered with.
func interferingTools() []string {
	return []string{"shell", "write_file", "fetch", "shell:write", "ask_user", "apply_patch", "shell:read"}
}

// atEveryPoint lists each fault point with a number of tools that come by it.
func atEveryPoint(way string, tools int) []*interference {
	var out []*interference
	all := interferingTools()
	for n, point := range fault.All() {
		taken := 0
		for m := range all {
			tool := all[(n+m)%len(all)]
			situation, shape, ok := teller(tool, string(point), n+m)
			if !ok || taken == tools {
				continue
			}
			taken++
			out = append(out, newInterference(way, "", tool, situation, shape, string(point)))
		}
	}
	return out
}

// atItsOwnPoints lists each fault point as the one at which the process that interferes is killed, while the story of the tool stands
// still at one.
func atItsOwnPoints(way, tool string, at fault.Point) []*interference {
	var out []*interference
	for n, own := range fault.All() {
		if (arm{point: string(own)}).inRunner() {
			continue // it would kill what the process runs, and not the process
		}
		shape := shapes()[n%len(shapes())]
		if _, why := tell(tool, "first", shape, 0, "127.0.0.1:1"); why == "" {
			out = append(out, newInterference(way, string(own), tool, "first", shape, string(at)))
		}
	}
	return out
}

func newInterference(way, own, tool, situation, shape, point string) *interference {
	f := newFamily(tool, situation, shape, point, false)
	f.job.victim = "host"
	i := &interference{job: f.job, way: way, own: own}
	for c := range mostTries {
		i.tries = append(i.tries, arm{f.first + c, point, 1})
	}
	return i
}

// find is the story of a control.
func (k interferer) find(way, own string, point fault.Point) (*interference, error) {
	all := k.all()
	n := slices.IndexFunc(all, func(i *interference) bool { return i.way == way && i.own == own && i.tries[0].point == string(point) })
	if n < 0 {
		return nil, fmt.Errorf("there is no story %s/%s for the control", way, point)
	}
	return all[n], nil
}
