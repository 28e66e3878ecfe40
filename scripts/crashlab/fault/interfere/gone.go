//go:build linux

package interfere

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/trial"
)

// Gone takes the database ("database") or the whole state folder ("folder") away from a host at
// work, or puts a copy in the folder's place ("copied"), and gives it back once the host has ended.
// A host that has not yet done everything says what is lost and does not report success; nothing
// begins of which there would be no record; and with the state back in its place the story ends as
// if it had never been away.
func Gone() lab.Fault {
	return kind{
		name: "gone", what: "the database or the state folder is taken away from a host at work, at every fault point", short: 5,
		all: removals, act: takenAway, judge: judgeGone, control: goneControl,
	}.fault()
}

func removals() []*interference {
	return slices.Concat(atEveryPoint("folder", 2), atEveryPoint("database", 1), atEveryPoint("copied", 1))
}

// takenAway takes the state away, lets the host go on to its end, and gives the state back.
func takenAway(b *interfered, s *trial.Halted) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	back, err := b.takeAway()
	if err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	o, err := b.release(s)
	if err != nil {
		return err
	}
	// What it decided last is in the record, and it ended before it could say so.
	b.World.Outputs = slices.DeleteFunc(b.World.Outputs, func(x judge.Output) bool { return x.PID == o.PID })
	b.World.WaitRunners()
	if err := errors.Join(b.World.WaitServers(), back(), b.Look()); err != nil {
		return err
	}
	b.reported(o, b.Histories[len(b.Histories)-1].Run.Status)
	return nil
}

// reported judges what a host printed whose state was gone. One that had done all of its work may
// not have noticed.
func (b *interfered) reported(o judge.Output, status string) {
	over := slices.Contains([]string{"completed", "failed", "cancelled", "waiting"}, status)
	switch {
	case o.Killed || strings.Contains(o.Text, "goroutine "):
		b.Found.Add(judge.Stuck, "a host whose state is gone crashes:\n%s", o.Text)
	case !over && o.Code == 0:
		b.Found.Add(judge.Lost, "the state is gone, and the host reports success:\n%s", o.Text)
	case !over && !strings.Contains(o.Text, b.World.State):
		b.Found.Add(judge.Silent, "the state is gone, and the host does not say so:\n%s", o.Text)
	}
}

// takeAway does so, and returns what gives the state back.
func (b *interfered) takeAway() (back func() error, err error) {
	state, away := b.World.State, filepath.Join(b.World.Root, "away")
	if b.way == "database" {
		if err := os.Mkdir(away, 0o700); err != nil {
			return nil, err
		}
		return func() error {
			if _, err := os.Lstat(filepath.Join(state, "agent.db")); !errors.Is(err, fs.ErrNotExist) {
				b.Found.Add(judge.Stuck, "a new database is made where the host's was: %v", err)
			}
			return moveDatabase(away, state, os.Rename)
		}, moveDatabase(state, away, os.Rename)
	}
	if err := os.Rename(state, away); err != nil {
		return nil, err
	}
	if b.way == "copied" {
		err = os.CopyFS(state, os.DirFS(away))
	}
	return func() error {
		if _, err := os.Lstat(filepath.Join(state, "agent.db")); b.way == "folder" && !errors.Is(err, fs.ErrNotExist) {
			b.Found.Add(judge.Stuck, "a new database is made where the host's was: %v", err)
		}
		return errors.Join(os.RemoveAll(state), os.Rename(away, state))
	}, err
}

// judgeGone judges the end of such a story. A runner whose folder was away may have left no record
// of its command.
func judgeGone(b *interfered, was, is judge.End) judge.Findings {
	return judge.CompareEnds(was, is, b.Unknown > 0, b.Unknown > 0 && (b.Leave || b.Story.Shape == "runbook"))
}

// goneControl lets a host go on as if nothing had been taken from it.
func goneControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("folder", "", fault.AfterClaim)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of what is gone: %w", err)
	}
	if f := append(b.Found, judgeGone(b, b.was, is)...); len(f) > 0 || !b.met {
		return fmt.Errorf("the story of the control of what is gone: %v, kept in %s", f, b.World.Root)
	}
	b.reported(judge.Output{}, "interrupted")
	l.Control("a host whose state is gone reports success", judge.Lost, b.Found)
	saw := maps.Clone(is.Saw)
	saw["mark-z"] = 1
	l.Control("something begins of which there is no record", judge.Twice, judge.CompareEffects(b.Histories, saw))
	return b.World.Close(false)
}
