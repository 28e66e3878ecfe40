//go:build linux

package interfere

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
)

// Signal sends a host SIGTERM or SIGHUP at every fault point. The host says how to go on and ends
// by itself, its run can be resumed, a command that runs goes on and is picked up, and the story
// ends as if no signal had come.
func Signal() lab.Fault {
	return kind{
		name: "signal", what: "the host is asked to stop by SIGTERM or SIGHUP, at every fault point", short: 8,
		all: signals, act: signalled, judge: judgeUnharmed, control: signalControl,
	}.fault()
}

func signals() []*interference { return append(atEveryPoint("TERM", 2), atEveryPoint("HUP", 1)...) }

// signalOf is what a way sends. KILL is the control's.
func signalOf() map[string]syscall.Signal {
	return map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
}

// signalled sends the signal. A host that is stopped gets it when it goes on; a runner that is
// stopped stays so, in half of the stories, until the next command has seen it.
func signalled(b *interfered, s *trial.Halted) error {
	if err := s.Cmd.Process.Signal(signalOf()[b.way]); err != nil {
		return err
	}
	var o judge.Output
	var err error
	if s.Runner.PID != 0 && plan.Pick(2, b.interference.key()) == 0 {
		o, err = b.await(s.Command)
	} else {
		o, err = b.release(s)
	}
	if err != nil {
		return err
	}
	if err := b.Look(); err != nil {
		return err
	}
	// Before the process has asked for signals there is nothing that it could leave behind.
	if o.Killed && s.Arm.Point != string(fault.Started) {
		b.Found.Add(judge.Stuck, "SIG%s ends the process in the middle of its work", b.way)
	}
	for _, h := range b.Histories {
		switch {
		case h.Run.Status == "running" && h.PID == o.PID || h.Run.Status == "queued": // what a kill before it left is the next claim's
			b.Found.Add(judge.Stuck, "run %s is %s after SIG%s, and nobody drives it", h.Run.ID, h.Run.Status, b.way)
		case h.Run.Status == "interrupted" && !strings.Contains(o.Text, "agent resume "+h.Run.ID):
			b.Found.Add(judge.Silent, "SIG%s interrupts run %s, and how to go on is not printed:\n%s", b.way, h.Run.ID, o.Text)
		}
	}
	if len(b.Found) > 0 {
		return trial.ErrFound
	}
	return nil
}

// signalControl kills the host where it should be asked to stop.
func signalControl(ctx context.Context, l *lab.Lab, k kind) error {
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
	l.Control("a signal that leaves the run as if it were driven", judge.Stuck, b.Found)
	return b.World.Close(false)
}
