//go:build linux

package main

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
)

// goneTrouble takes the database ("database") or the whole state folder ("folder") away from a host at work, or puts a copy in the
// folder's place ("copied"), and gives it back once the host has ended. A host that has not yet done everything says what is lost and
// does not report success; nothing begins of which there would be no record; and with the state back in its place the story ends as
// if it had never been away.
func goneTrouble() trouble {
	return interferer{
		name: "gone", what: "the database or the state folder is taken away from a host at work, at every fault point", short: 5,
		all: removals, act: takenAway, judge: givenBack, control: goneControl,
	}.trouble()
}

func removals() []*interference {
	return slices.Concat(atEveryPoint("folder", 2), atEveryPoint("database", 1), atEveryPoint("copied", 1))
}

// takenAway takes the state away, lets the host go on to its end, and gives the state back.
func takenAway(b *interfered, s *standing) error {
	if b.run == "" {
		_, err := b.release(s)
		return err
	}
	back, err := b.takeAway()
	if err != nil {
		return errors.Join(err, endOf(s.command))
	}
	o, err := b.release(s)
	if err != nil {
		return err
	}
	// What it decided last is in the record, and it ended before it could say so.
	b.world.outputs = slices.DeleteFunc(b.world.outputs, func(x output) bool { return x.pid == o.pid })
	b.world.runnersEnd()
	if err := errors.Join(b.world.serversGone(), back(), b.look()); err != nil {
		return err
	}
	b.reported(o, b.last[len(b.last)-1].run.status)
	return nil
}

// reported judges what a host printed whose state was gone. One that had done all of its work may not have noticed.
func (b *interfered) reported(o output, status string) {
	over := slices.Contains([]string{"completed", "failed", "cancelled", "waiting"}, status)
	switch {
	case o.killed || strings.Contains(o.text, "goroutine "):
		b.found.add(stuck, "a host whose state is gone crashes:\n%s", o.text)
	case !over && o.code == 0:
		b.found.add(lost, "the state is gone, and the host reports success:\n%s", o.text)
	case !over && !strings.Contains(o.text, b.world.state):
		b.found.add(silent, "the state is gone, and the host does not say so:\n%s", o.text)
	}
}

// takeAway does so, and returns what gives the state back.
func (b *interfered) takeAway() (back func() error, err error) {
	state, away := b.world.state, filepath.Join(b.world.root, "away")
	if b.way == "database" {
		if err := os.Mkdir(away, 0o700); err != nil {
			return nil, err
		}
		return func() error {
			if _, err := os.Lstat(filepath.Join(state, "agent.db")); !errors.Is(err, fs.ErrNotExist) {
				b.found.add(stuck, "a new database is made where the host's was: %v", err)
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
			b.found.add(stuck, "a new database is made where the host's was: %v", err)
		}
		return errors.Join(os.RemoveAll(state), os.Rename(away, state))
	}, err
}

// givenBack judges the end of such a story. A runner whose folder was away may have left no record of its command.
func givenBack(b *interfered, was, is end) findings {
	return compareEnds(was, is, b.unknown > 0, b.unknown > 0 && (b.leave || b.story.shape == "runbook"))
}

// goneControl lets a host go on as if nothing had been taken from it.
func goneControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("folder", "", fault.AfterClaim)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of what is gone: %w", err)
	}
	if f := append(b.found, givenBack(b, b.was, is)...); len(f) > 0 || !b.met {
		return fmt.Errorf("the story of the control of what is gone: %v, kept in %s", f, b.world.root)
	}
	b.reported(output{}, "interrupted")
	l.control("a host whose state is gone reports success", lost, b.found)
	saw := maps.Clone(is.saw)
	saw["mark-z"] = 1
	l.control("something begins of which there is no record", twice, compareEffects(b.last, saw))
	return b.world.close(false)
}
