//go:build linux

package disk

import (
	"context"
	"errors"
	"path/filepath"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// fullControls lose something on purpose: the ballast is taken away, and a command ignores a write
// that fails.
func fullControls(ctx context.Context, l *lab.Lab) error {
	bare := needsBallast("anthropic")
	bare.kind = "bare"
	w, err := fillUp(ctx, l, bare)
	if err != nil {
		return err
	}
	l.Control("a full disk and no ballast lose the result of a request", judge.Lost, w.Found)
	if err := w.World.Close(false); err != nil {
		return err
	}
	var disk *machine.Volume
	t, err := l.Begin(heedless(), func(root string) (_ func(bool) error, err error) {
		if disk, err = machine.NewVolume(filepath.Join(root, "work"), machine.VolumeOptions{MiB: 4, Block: 1024}); err != nil {
			return nil, err
		}
		return disk.Close, nil
	})
	if err == nil {
		err = disk.Fill()
	}
	if err != nil {
		return err
	}
	if err := t.Finish(ctx); err != nil && !errors.Is(err, trial.ErrFound) {
		return errors.Join(err, t.World.Close(false))
	}
	l.Control("a command pays no heed to a full disk", judge.Lost, t.Found)
	return t.World.Close(false)
}

// heedless is a story whose first command goes on as if its write had not failed.
func heedless() plan.Job {
	return plan.Job{Tool: "shell", Situation: "first", Shape: "runbook", Victim: "host", Change: func(s *story.Story) {
		command := s.Turns[0][0].Args["command"].(string) + " || true"
		s.Turns[0][0] = story.Step{Tool: "shell", Args: map[string]any{"command": command}, Book: "```sh\n" + command + "\n```\n"}
	}}
}
