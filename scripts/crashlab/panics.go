//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/recovery/fault"
)

// panicTrouble has a host panic at every fault point, and a runner at those of its own. A run that the host has claimed ends as
// failed at once, with every call settled and nothing left running. Resuming it does nothing, and a next run in its thread does
// nothing twice; a runbook goes on there from the step that failed. What a panic inside of a tool has begun is unknown.
func panicTrouble() trouble {
	return interferer{
		name: "panic", what: "the host panics, at every fault point", short: 6,
		all: panics, step: panicking, judge: carriedOn, control: panicControl,
	}.trouble()
}

func panics() []*interference { return atEveryPoint("panic", 2) }

// longestEnd is how long a host may take that panics: half of what it would wait for a lock that it holds itself.
const longestEnd = 8 * time.Second

// panicking carries out one command, with the panic armed for those that may come by the point.
func panicking(b *interfered, args []string) error {
	at := slices.IndexFunc(b.tries, func(a arm) bool { return !b.met && a.cmd == b.cmd })
	if at < 0 {
		return b.step(args)
	}
	b.cmd++
	began := time.Now()
	c, err := b.world.start(b.tries[at].point+":1:"+b.way, args...)
	if err != nil {
		return err
	}
	o, ok, err := b.attend(c)
	took := time.Since(began)
	if err == nil && !ok {
		err = fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(args, " "), errLate, limit)
	}
	if err == nil {
		err = b.look()
	}
	if err != nil {
		return err
	}
	if !o.killed && !strings.Contains(o.text, "fault point "+b.tries[at].point) {
		return nil
	}
	b.met = true
	b.fired = append(b.fired, b.tries[at])
	b.panicked(o, took)
	if len(b.found) > 0 {
		return errFound
	}
	return b.goOnAfter()
}

// panicked judges a command that panicked.
func (b *interfered) panicked(o output, took time.Duration) {
	if took > longestEnd {
		b.found.add(stuck, "a host that panics ends after %s", took.Round(time.Millisecond))
	}
	// Before the process has begun to look for panics there is nothing that it could leave behind.
	if (strings.Contains(o.text, "goroutine ") || o.code == 2) && b.tries[0].point != string(fault.Started) {
		b.found.add(stuck, "a host that panics crashes:\n%s", o.text)
	}
	if n := len(b.world.processes()); n > 0 {
		b.found.add(stuck, "a host that panicked leaves %d runners", n)
	}
	for _, h := range b.last {
		if h.pid != o.pid {
			continue // it never owned the run, which stays as it was
		}
		b.run, b.ended = h.run.id, h.run.status
		if !inside(b.tries[0].point) && (h.run.status != "failed" || o.code != 1) {
			b.found.add(stuck, "run %s is %s after a panic, and the command ends with %d:\n%s", h.run.id, h.run.status, o.code, o.text)
		}
		for _, c := range h.calls {
			if h.run.status == "failed" && len(c.results) > 0 && c.results[0].Result.Outcome == "unknown" {
				b.found.add(needless, "the outcome of call %d.%d %s is recorded as unknown after a panic", c.turn, c.index, c.tool)
			}
		}
	}
}

// inside says that a panic there is one of a tool, of a runner, or of a process that has let its run go: no run ends by it.
func inside(point string) bool {
	tool := []fault.Point{fault.WriteTemp, fault.WriteRenamed, fault.RunnerStarted, fault.BeforeUnlocking}
	return (arm{point: point}).inRunner() || slices.Contains(tool, fault.Point(point))
}

// goOnAfter resumes a run that failed, which does nothing, and has the model continue in its thread, which sees what came of it.
func (b *interfered) goOnAfter() error {
	if b.ended != "failed" {
		return nil
	}
	before, err := b.world.witness.counts()
	if err != nil {
		return err
	}
	b.cmd++
	if _, err := b.world.agent(context.Background(), "resume", b.run); err != nil {
		return err
	}
	after, err := b.world.witness.counts()
	if err == nil && !maps.Equal(before, after) {
		b.found.add(twice, "a run that failed is over, and resuming it makes %v of %v", after, before)
		err = errFound
	}
	if err == nil && b.story.shape != "runbook" { // a runbook that failed is continued in every story
		b.cmd++
		_, err = b.world.agent(context.Background(), b.story.continueArgs(b.world.url())...)
	}
	return errors.Join(err, b.look())
}

// carriedOn judges the end of a story in which somebody panicked.
func carriedOn(b *interfered, was, is end) findings {
	switch {
	case b.ended == "failed" && b.story.shape == "runbook":
		return compareEnds(was, is, true, b.unknown > 0)
	case b.ended != "failed" && !inside(b.tries[0].point):
		return unhurt(b, was, is)
	}
	return noMore(was, is)
}

// noMore finds what a story did that it does not do whole: a part of it may be missing.
func noMore(was, is end) findings {
	var f findings
	for _, m := range slices.Sorted(maps.Keys(is.saw)) {
		if is.saw[m] > was.saw[m] {
			f.add(twice, "the effect %s happened %d times, and in the whole story %d times", m, is.saw[m], was.saw[m])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.files)) {
		if _, ok := was.files[name]; !ok {
			f.add(differs, "the file %s is left behind", name)
		}
	}
	return f
}

// panicControl leaves a run as if it were driven, has a host take too long, and does something again after a panic.
func panicControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("panic", "", fault.AfterEffect)
	if err != nil {
		return err
	}
	killed := *i
	killed.way = "kill"
	b, _, err := interfere(ctx, l, k, &killed)
	if err != nil {
		return fmt.Errorf("the control of the panics: %w", err)
	}
	l.control("a panic that leaves the run as if it were driven", stuck, b.found)
	if err := b.world.close(false); err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the panics: %w", err)
	}
	if len(b.found) > 0 || b.ended != "failed" {
		return fmt.Errorf("the story of the control of the panics ends %q: %v, kept in %s", b.ended, b.found, b.world.root)
	}
	b.panicked(output{}, 15*time.Second)
	l.control("a host that panics waits for its own lock", stuck, b.found)
	text := []byte(strings.Repeat(markIn(b.world.number, "a")+"\n", 2))
	if err := os.WriteFile(filepath.Join(b.world.dir, "effects"), text, 0o600); err != nil {
		return err
	}
	saw, err := b.world.witness.counts()
	if err != nil {
		return err
	}
	l.control("what was done before a panic is done again", twice, compareEffects(b.last, saw))
	is.saw["mark-z"] = 1
	l.control("a panic brings about what does not happen without it", twice, carriedOn(b, b.was, is))
	return b.world.close(false)
}
