//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"agent/recovery/fault"
)

// cancelTrouble ends runs from another process: runs that are driven ("live"), that were interrupted ("dead") and that wait for an
// answer ("waiting"). The other process is killed at each of its own points too, and its command given once more. What was cancelled
// stays cancelled, every call of it has a result, and nothing of it happens any more.
func cancelTrouble() trouble {
	return interferer{
		name: "cancel", what: "a run is cancelled by another process, which may be killed while it does that", short: 9,
		all: cancels, act: cancelledBy, judge: stayedCancelled, control: cancelControl,
	}.trouble()
}

func cancels() []*interference {
	return slices.Concat(
		atEveryPoint("live", 2), atEveryPoint("dead", 1),
		atItsOwnPoints("live", "shell", fault.RunnerRunning), atItsOwnPoints("dead", "shell", fault.RunnerRunning),
		atItsOwnPoints("dead", "write_file", fault.AfterStarted), atItsOwnPoints("waiting", "ask_user", fault.AtQuestion),
	)
}

// cancelledBy cancels the run of a command that stands still.
func cancelledBy(b *interfered, s *standing) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	switch b.way {
	case "dead":
		s.kill()
		if _, err := b.await(s.command); err != nil {
			return err
		}
	case "waiting":
		if _, err := b.release(s); err != nil {
			return err
		}
	}
	c, err := b.other("cancel", b.run)
	if err != nil {
		return err
	}
	if b.way == "live" {
		hears(c, "asking")
		// A runner that stands still has to be ended all the same: it stays so in half of the stories.
		if s.runner.pid == 0 || pick(2, b.interference.key()) == 0 {
			if err := s.goOn(""); err != nil {
				return err
			}
		}
	}
	o, err := b.insists(c, b.await)
	if err != nil {
		return err
	}
	if b.way == "live" {
		if _, err := b.await(s.command); err != nil {
			return err
		}
	}
	b.world.runnersEnd()
	return b.isCancelled(o)
}

// isCancelled holds the exit code against the record, and wants a resume to do nothing.
func (b *interfered) isCancelled(o output) error {
	if err := b.look(); err != nil {
		return err
	}
	status := b.last[len(b.last)-1].run.status
	over := status == "completed" || status == "failed"
	switch {
	case status != "cancelled" && !over:
		b.found.add(stuck, "agent cancel ends with %d, and the run is %s:\n%s", o.code, status, o.text)
	case (o.code == 0) != (status == "cancelled"):
		b.found.add(silent, "agent cancel ends with %d, and the run is %s:\n%s", o.code, status, o.text)
	}
	if status == "cancelled" {
		if _, err := b.world.agent(context.Background(), "resume", b.run); err != nil {
			return err
		}
	}
	if len(b.found) > 0 {
		return errFound
	}
	return nil
}

// stayedCancelled judges the end of a story that was cancelled.
func stayedCancelled(b *interfered, was, is end) findings {
	if b.run == "" || b.ended != "cancelled" { // it was over before, or there was none
		return unhurt(b, was, is)
	}
	var f findings
	if is.status != "cancelled" {
		f.add(differs, "the run was cancelled, and ends %s", is.status)
	}
	saw, err := b.world.witness.counts()
	if err != nil {
		f.add(unlisted, "%v", err)
	}
	for _, m := range slices.Sorted(maps.Keys(saw)) {
		if saw[m] > b.saw[m] {
			f.add(twice, "the effect %s happened after the run was cancelled", m)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(is.saw)) {
		if was.saw[m] == 0 {
			f.add(twice, "the effect %s happened, and without the cancel it does not", m)
		}
	}
	return f
}

// cancelControl lets something happen after a cancel, and a run go on.
func cancelControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("live", "", fault.RunnerRunning)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the cancels: %w", err)
	}
	if len(b.found) > 0 || b.ended != "cancelled" {
		return fmt.Errorf("the story of the control of the cancels ends %q: %v, kept in %s", b.ended, b.found, b.world.root)
	}
	late := markIn(b.world.number, "z") + "\n"
	if err := os.WriteFile(filepath.Join(b.world.dir, "effects"), []byte(late), 0o600); err != nil {
		return err
	}
	l.control("something happens after a cancel", twice, stayedCancelled(b, b.was, is))
	is.status = "completed"
	l.control("a run goes on after a cancel", differs, stayedCancelled(b, b.was, is))
	return b.world.close(false)
}
