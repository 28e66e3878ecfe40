//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"agent/recovery/fault"
)

// signalTrouble sends a host SIGTERM or SIGHUP at every fault point. The host says how to go on and ends by itself, its run can be
// resumed, a command that runs goes on and is picked up, and the story ends as if no signal had come.
func signalTrouble() trouble {
	return interferer{
		name: "signal", what: "the host is told to stop by SIGTERM or SIGHUP, at every fault point", short: 8,
		all: signals, act: signalled, judge: unhurt, control: signalControl,
	}.trouble()
}

func signals() []*interference { return append(atEveryPoint("TERM", 2), atEveryPoint("HUP", 1)...) }

// signalOf is what a way sends. KILL is the control's.
func signalOf() map[string]syscall.Signal {
	return map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
}

// signalled sends the signal. A host that stands still gets it when it goes on; a runner that does stands still, in half of the
// stories, until the next command has seen it.
func signalled(b *interfered, s *standing) error {
	if err := s.cmd.Process.Signal(signalOf()[b.way]); err != nil {
		return err
	}
	var o output
	var err error
	if s.runner.pid != 0 && pick(2, b.interference.key()) == 0 {
		o, err = b.await(s.command)
	} else {
		o, err = b.release(s)
	}
	if err != nil {
		return err
	}
	if err := b.look(); err != nil {
		return err
	}
	// Before the process has asked for signals there is nothing that it could leave behind.
	if o.killed && s.arm.point != string(fault.Started) {
		b.found.add(stuck, "SIG%s ends the process in the middle of its work", b.way)
	}
	for _, h := range b.last {
		switch {
		case h.run.status == "running" && h.pid == o.pid || h.run.status == "queued": // what a kill before it left is the next claim's
			b.found.add(stuck, "run %s is %s after SIG%s, and nobody drives it", h.run.id, h.run.status, b.way)
		case h.run.status == "interrupted" && !strings.Contains(o.text, "agent resume "+h.run.id):
			b.found.add(silent, "SIG%s interrupts run %s, and how to go on is not printed:\n%s", b.way, h.run.id, o.text)
		}
	}
	if len(b.found) > 0 {
		return errFound
	}
	return nil
}

// signalControl kills the host where it should be told to stop.
func signalControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("TERM", "", fault.RunnerRunning)
	if err != nil {
		return err
	}
	killed := *i
	killed.way = "KILL"
	b, _, err := interfere(ctx, l, k, &killed)
	if err != nil {
		return fmt.Errorf("the control of the signals: %w", err)
	}
	l.control("a signal that leaves the run as if it were driven", stuck, b.found)
	return b.world.close(false)
}
