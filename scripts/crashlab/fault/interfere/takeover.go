//go:build linux

package interfere

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/trial"
)

// Takeover takes runs away from a process that drives them: one that lives and lets go ("alive"),
// one that is stopped and has to be ended ("stopped"), and one that is killed while it is asked
// ("killed"). The taker is killed at each of its own points too, and its command given once more.
// The story ends as if nobody had taken anything.
func Takeover() lab.Fault {
	return kind{
		name: "takeover", what: "a run is taken over by another process, which may be killed while it does that", short: 6,
		all: takeovers, act: takenOver, judge: judgeUnharmed, control: takeoverControl,
	}.fault()
}

func takeovers() []*interference {
	return slices.Concat(
		atEveryPoint("alive", 2), atEveryPoint("stopped", 1), atEveryPoint("killed", 1),
		atItsOwnPoints("alive", "shell", fault.RunnerRunning), atItsOwnPoints("stopped", "shell", fault.RunnerRunning),
	)
}

// takenOver takes the run of a command that is stopped.
func takenOver(b *interfered, s *trial.Halted) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	if b.way != "alive" { // a host whose runner stands still does not stand still itself
		if err := s.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	c, err := b.startOther("resume", "--takeover", b.run)
	if err != nil {
		return err
	}
	awaitText(c, "let go")
	switch {
	case b.way == "killed":
		s.Kill()
	case b.way == "alive" && s.Runner.PID == 0:
		if err := s.Release(""); err != nil {
			return err
		}
	}
	wait := b.await
	if s.Runner.PID != 0 {
		wait = b.awaitReleasing
	}
	o, err := b.awaitRepeating(c, wait)
	if err != nil {
		return err
	}
	return b.isTaken(s, o)
}

// isTaken wants the holder to end, and the taker not to be refused. A holder that was stopped and
// held nothing goes on.
func (b *interfered) isTaken(s *trial.Halted, o judge.Output) error {
	_ = s.Cmd.Process.Signal(syscall.SIGCONT) // one that was ended minds as little as one that is at work
	if _, err := b.await(s.Command); err != nil {
		return err
	}
	if err := b.Look(); err != nil {
		return err
	}
	status := b.Histories[len(b.Histories)-1].Run.Status
	if over := []string{"completed", "failed", "cancelled"}; o.Code == 1 && !slices.Contains(over, status) {
		b.Found.Add(judge.Stuck, "a takeover is refused, and the run is %s:\n%s", status, o.Text)
		return trial.ErrFound
	}
	return nil
}

// takeoverControl lets a holder do its work although it was taken over.
func takeoverControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("alive", "", fault.RunnerRunning)
	if err != nil {
		return err
	}
	b, _, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the takeovers: %w", err)
	}
	path := filepath.Join(b.World.Dir, "effects")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the control of the takeovers: %w", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(string(text), 2)), 0o600); err != nil {
		return err
	}
	saw, err := b.World.Witness.Counts()
	if err != nil {
		return err
	}
	l.Control("a holder that was taken over goes on", judge.Twice, judge.CompareEffects(b.Histories, saw))
	return b.World.Close(false)
}
