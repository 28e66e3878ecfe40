//go:build linux

package interfere

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
)

// Cancel ends runs from another process: runs that are driven ("live"), that were interrupted
// ("dead") and that wait for an answer ("waiting"). The other process is killed at each of its own
// points too, and its command given once more. What was cancelled stays cancelled, every call of it
// has a result, and nothing of it happens any more.
func Cancel() lab.Fault {
	return kind{
		name: "cancel", what: "a run is cancelled by another process, which may be killed while it does that", short: 9,
		all: cancels, act: cancelledBy, judge: judgeCancelled, control: cancelControl,
	}.fault()
}

func cancels() []*interference {
	return slices.Concat(
		atEveryPoint("live", 2), atEveryPoint("dead", 1),
		atItsOwnPoints("live", "shell", fault.RunnerRunning), atItsOwnPoints("dead", "shell", fault.RunnerRunning),
		atItsOwnPoints("dead", "write_file", fault.AfterStarted), atItsOwnPoints("waiting", "ask_user", fault.AtQuestion),
	)
}

// cancelledBy cancels the run of a command that is stopped.
func cancelledBy(b *interfered, s *trial.Halted) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	switch b.way {
	case "dead":
		s.Kill()
		if _, err := b.await(s.Command); err != nil {
			return err
		}
	case "waiting":
		if _, err := b.release(s); err != nil {
			return err
		}
	}
	c, err := b.startOther("cancel", b.run)
	if err != nil {
		return err
	}
	if b.way == "live" {
		awaitText(c, "asking")
		// A runner that is stopped has to be ended all the same: it stays so in half of the
		// stories.
		if s.Runner.PID == 0 || plan.Pick(2, b.interference.key()) == 0 {
			if err := s.Release(""); err != nil {
				return err
			}
		}
	}
	o, err := b.awaitRepeating(c, b.await)
	if err != nil {
		return err
	}
	if b.way == "live" {
		if _, err := b.await(s.Command); err != nil {
			return err
		}
	}
	b.World.WaitRunners()
	return b.isCancelled(o)
}

// isCancelled holds the exit code against the record, and wants a resume to do nothing.
func (b *interfered) isCancelled(o judge.Output) error {
	if err := b.Look(); err != nil {
		return err
	}
	status := b.Histories[len(b.Histories)-1].Run.Status
	over := status == "completed" || status == "failed"
	switch {
	case status != "cancelled" && !over:
		b.Found.Add(judge.Stuck, "agent cancel ends with %d, and the run is %s:\n%s", o.Code, status, o.Text)
	case (o.Code == 0) != (status == "cancelled"):
		b.Found.Add(judge.Silent, "agent cancel ends with %d, and the run is %s:\n%s", o.Code, status, o.Text)
	}
	if status == "cancelled" {
		if _, err := b.World.Run(context.Background(), "resume", b.run); err != nil {
			return err
		}
	}
	if len(b.Found) > 0 {
		return trial.ErrFound
	}
	return nil
}

// judgeCancelled judges the end of a story that was cancelled.
func judgeCancelled(b *interfered, was, is judge.End) judge.Findings {
	if b.run == "" || b.ended != "cancelled" { // it was over before, or there was none
		return judgeUnharmed(b, was, is)
	}
	var f judge.Findings
	if is.Status != "cancelled" {
		f.Add(judge.Differs, "the run was cancelled, and ends %s", is.Status)
	}
	saw, err := b.World.Witness.Counts()
	if err != nil {
		f.Add(judge.Unlisted, "%v", err)
	}
	for _, m := range slices.Sorted(maps.Keys(saw)) {
		if saw[m] > b.saw[m] {
			f.Add(judge.Twice, "the effect %s happened after the run was cancelled", m)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(is.Saw)) {
		if was.Saw[m] == 0 {
			f.Add(judge.Twice, "the effect %s happened, and without the cancel it does not", m)
		}
	}
	return f
}

// cancelControl lets something happen after a cancel, and a run go on.
func cancelControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("live", "", fault.RunnerRunning)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the cancels: %w", err)
	}
	if len(b.Found) > 0 || b.ended != "cancelled" {
		return fmt.Errorf("the story of the control of the cancels ends %q: %v, kept in %s", b.ended, b.Found, b.World.Root)
	}
	late := marks.In(b.World.Number, "z") + "\n"
	if err := os.WriteFile(filepath.Join(b.World.Dir, "effects"), []byte(late), 0o600); err != nil {
		return err
	}
	l.Control("something happens after a cancel", judge.Twice, judgeCancelled(b, b.was, is))
	is.Status = "completed"
	l.Control("a run goes on after a cancel", judge.Differs, judgeCancelled(b, b.was, is))
	return b.World.Close(false)
}
