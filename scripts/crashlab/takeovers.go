//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/recovery/fault"
)

// takeoverTrouble takes runs away from a process that drives them: one that lives and lets go ("alive"), one that stands still and has
// to be ended ("stopped"), and one that is killed while it is asked ("killed"). The taker is killed at each of its own points too, and
// its command given once more. The story ends as if nobody had taken anything.
func takeoverTrouble() trouble {
	return interferer{
		name: "takeover", what: "a run is taken over by another process, which may be killed while it does that", short: 6,
		all: func() []*interference {
			return slices.Concat(
				atEveryPoint("alive", 2), atEveryPoint("stopped", 1), atEveryPoint("killed", 1),
				atItsOwnPoints("alive", "shell", fault.RunnerRunning), atItsOwnPoints("stopped", "shell", fault.RunnerRunning),
			)
		},
		act: takenOver, judge: unhurt, control: takeoverControl,
	}.trouble()
}

// takenOver takes the run of a command that stands still.
func takenOver(b *interfered, s *standing) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	if b.way != "alive" { // a host whose runner stands still does not stand still itself
		if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	c, err := b.other("resume", "--takeover", b.run)
	if err != nil {
		return err
	}
	hears(c, "let go")
	switch {
	case b.way == "killed":
		s.kill()
	case b.way == "alive" && s.runner.pid == 0:
		if err := s.goOn(""); err != nil {
			return err
		}
	}
	let := make(chan error, 1)
	if s.runner.pid == 0 {
		let <- nil
	} else {
		go func() { let <- b.letGo(c) }()
	}
	o, err := b.insists(c)
	if err := errors.Join(err, <-let); err != nil {
		return err
	}
	return b.isTaken(s, o)
}

// isTaken wants the holder to be gone, and the taker not to be refused.
func (b *interfered) isTaken(s *standing, o output) error {
	select {
	case <-s.ended:
	default:
		if o.code != 1 { // who was refused has nothing to wait for
			if _, err := b.await(s.command); err != nil {
				return err
			}
		}
	}
	if err := b.look(); err != nil {
		return err
	}
	switch status := b.last[len(b.last)-1].run.status; status {
	case "completed", "failed", "cancelled":
	default:
		if o.code == 1 {
			b.found.add(stuck, "a takeover is refused, and the run is %s:\n%s", status, o.text)
			return errFound
		}
	}
	_, err := b.await(s.command)
	return err
}

// takeoverControl lets a holder do its work although it was taken over.
func takeoverControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("alive", "", fault.RunnerRunning)
	if err != nil {
		return err
	}
	b, _, err := l.interfere(ctx, k, i)
	if err != nil {
		return fmt.Errorf("the control of the takeovers: %w", err)
	}
	path := filepath.Join(b.world.dir, "effects")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the control of the takeovers: %w", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(string(text), 2)), 0o600); err != nil {
		return err
	}
	saw, err := b.world.witness.counts()
	if err != nil {
		return err
	}
	l.control("a holder that was taken over goes on", twice, compareEffects(b.last, saw))
	return b.world.close(false)
}
