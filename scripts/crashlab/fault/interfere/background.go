//go:build linux

package interfere

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/world"
)

// Background has every command of a story hand its run over to a process of the run's own. That
// process is killed at each fault point ("driver"), or the command that started it is, at each of
// its own ("launcher"). The story ends as if nobody had been killed.
func Background() lab.Fault {
	return kind{
		name: "background", what: "runs go on in processes of their own, which are killed, as is what started them", short: 8,
		all: backgrounds, step: detached, judge: judgeUnharmed, control: backgroundControl,
	}.fault()
}

// launcherPoints are passed by a command that hands a run over.
func launcherPoints() []fault.Point {
	return []fault.Point{fault.DriverSpawned, fault.DriverAccepted, fault.AnswerRecorded}
}

func backgrounds() []*interference {
	var out []*interference
	for _, i := range atEveryPoint("driver", 2) {
		if a := i.tries[0]; !a.InRunner() && !strings.HasPrefix(a.Point, "runner.") && !slices.Contains(launcherPoints(), fault.Point(a.Point)) {
			out = append(out, i)
		}
	}
	for _, point := range launcherPoints() {
		tool, situation := "shell", "first"
		if point == fault.AnswerRecorded {
			tool, situation = "ask_user", "first"
		}
		for _, shape := range []string{"runbook", "anthropic", "chat"} {
			i := newInterference("launcher", "", tool, situation, shape, string(point))
			for n := range i.tries {
				i.tries[n].Command = n
			}
			out = append(out, i)
		}
	}
	return out
}

// detached carries out one command with its run handed over, and waits until that run has ended,
// was interrupted, or asks.
func detached(b *interfered, args []string) error {
	arm := ""
	for _, a := range b.tries {
		if b.met || a.Command != b.Commands {
			continue
		}
		arm = fmt.Sprintf("drive:%s:%d", a.Point, a.Pass)
		if b.way == "launcher" {
			arm = fmt.Sprintf("%s:%d", a.Point, a.Pass)
		}
	}
	b.Commands++
	c, err := b.World.Start(arm, slices.Insert(slices.Clone(args), 1, "--detach")...)
	if err != nil {
		return err
	}
	o, err := b.await(c)
	if err != nil {
		return err
	}
	if !b.World.WaitDrivers(b.asks) {
		return fmt.Errorf("%w: the process that drives in the background: %w", world.ErrStuck, world.ErrLate)
	}
	err = b.looked()
	if left := b.ended == "running" || b.ended == "queued" || b.ended == "interrupted"; arm != "" && (o.Killed || o.Code == 1 || left) {
		b.met = true
		b.kills++
	}
	return err
}

// asks says whether the newest run waits for an answer.
func (b *interfered) asks() bool {
	r, err := journal.Load(b.World.State, b.World.Root)
	if err != nil {
		return false // it is asked again
	}
	return slices.ContainsFunc(r.Requests, func(q journal.Request) bool { return q.Status == "open" })
}

// looked looks at what is recorded, and notes which run that is.
func (b *interfered) looked() error {
	if err := b.World.WaitServers(); err != nil {
		return err
	}
	if err := b.Look(); err != nil {
		return err
	}
	if len(b.Histories) > 0 {
		run := b.Histories[len(b.Histories)-1].Run
		b.run, b.ended = run.ID, run.Status
	}
	return nil
}

// backgroundControl does once more what a run in the background has done.
func backgroundControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("launcher", "", fault.DriverAccepted)
	if err != nil {
		return err
	}
	b, _, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of the background: %w", err)
	}
	if len(b.Found) > 0 || !b.met {
		return fmt.Errorf("the story of the control of the background finds %v, kept in %s", b.Found, b.World.Root)
	}
	path := filepath.Join(b.World.Dir, "effects")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Repeat(string(text), 2)), 0o600)
	}
	saw, countErr := b.World.Witness.Counts()
	if err := errors.Join(err, countErr); err != nil {
		return fmt.Errorf("the control of the background: %w", err)
	}
	l.Control("a run in the background is driven twice", judge.Twice, judge.CompareEffects(b.Histories, saw))
	return b.World.Close(false)
}
