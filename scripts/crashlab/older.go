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

// olderTrouble puts back the database as it was while a command stood still, after that command has gone on. Where the folder knows of
// a claim, a question or an end that this database does not, nothing may be driven before a person decides, and reading works. Then
// either the newer database comes back and the story ends as if nothing had been done to it ("newer"), or a person lets the older one
// count and allows only what the witness has not seen ("decided"): nothing happens twice.
func olderTrouble() trouble {
	return interferer{
		name: "older", what: "an earlier database is put back, at every fault point", short: 5,
		all: olders, act: putBack, judge: countsOnce, control: olderControl,
	}.trouble()
}

func olders() []*interference { return append(atEveryPoint("newer", 1), atEveryPoint("decided", 2)...) }

// databaseFiles are what a person takes for the database.
func databaseFiles() []string { return []string{"agent.db", "agent.db-wal", "agent.db-shm"} }

// moveDatabase replaces the database of a folder by that of another, file by file.
func moveDatabase(from, to string, move func(from, to string) error) error {
	for _, name := range databaseFiles() {
		if err := os.RemoveAll(filepath.Join(to, name)); err != nil {
			return err
		}
		if err := move(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// putBack copies the database, lets the command go on to its end, and puts the copy in the place of what it left.
func putBack(b *interfered, s *standing) error {
	older, newer := filepath.Join(b.world.root, "older"), filepath.Join(b.world.root, "newer")
	if err := errors.Join(os.Mkdir(older, 0o700), os.Mkdir(newer, 0o700)); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	if err := moveDatabase(b.world.state, older, copyFile); err != nil {
		return errors.Join(err, endOf(s.command))
	}
	_ = os.Remove(filepath.Join(older, "agent.db-shm")) // it is made anew from the log
	if _, err := b.release(s); err != nil {
		return err
	}
	b.world.runnersEnd()
	if err := errors.Join(b.world.serversGone(), b.look()); err != nil {
		return err
	}
	is := b.record
	was, err := load(older, b.world.root)
	if err != nil || len(was.runs) == 0 || milestones(was) == milestones(is) {
		return err
	}
	b.run = was.runs[0].id
	if err := moveDatabase(b.world.state, newer, os.Rename); err != nil {
		return err
	}
	if err := moveDatabase(older, b.world.state, copyFile); err != nil {
		return err
	}
	shown := slices.Clone(b.world.outputs)
	if err := b.drivesNothing(); err != nil {
		return err
	}
	if b.way == "decided" {
		b.wary = true
		b.last, b.world.outputs = nil, nil // what was kept and shown is lost with the newer database
		o, err := b.carryOut("restore", "--here", "--yes")
		if err == nil && o.code != 0 {
			b.found.add(stuck, "a person cannot let the older database count:\n%s", o.text)
		}
		return err
	}
	b.world.outputs = shown // what the older database shows is not all that the newer one holds
	return moveDatabase(newer, b.world.state, os.Rename)
}

// milestones counts what a folder knows of its database by heart: claims, questions and ends.
func milestones(r *record) int {
	n := 0
	for _, facts := range r.facts {
		for _, x := range facts {
			if slices.Contains([]int64{claimed, interrupted, completed, failed, cancelled, opened}, x.kind) {
				n++
			}
		}
	}
	return n
}

// drivesNothing has everything refused that drives, and nothing that reads.
func (b *interfered) drivesNothing() error {
	before, err := b.world.witness.counts()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"resume", b.run}, {"resume", "--all"}, b.story.continueArgs(b.world.url()), {"ls", "--all"}, {"show", b.run}} {
		o, err := b.carryOut(args...)
		if err != nil {
			return err
		}
		if reads := args[0] == "ls" || args[0] == "show"; reads && !strings.Contains(o.text, b.run) {
			b.found.add(stuck, "agent %s ends with %d, and shows no run, where the database is older than its folder:\n%s", strings.Join(args, " "), o.code, o.text)
		} else if !reads && (o.code != 1 || !strings.Contains(o.text, "agent restore --here")) {
			b.found.add(silent, "agent %s ends with %d where the database is older than its folder, and names no way out:\n%s", strings.Join(args, " "), o.code, o.text)
		}
	}
	after, err := b.world.witness.counts()
	if err == nil && !maps.Equal(before, after) {
		b.found.add(twice, "with a database that is older than its folder %v became %v", before, after)
	}
	return err
}

// carryOut carries out a command that nobody interferes with, and looks at nothing.
func (b *interfered) carryOut(args ...string) (output, error) {
	b.cmd++
	c, err := b.world.start("", args...)
	if err != nil {
		return output{}, err
	}
	o, err := b.await(c)
	return o, errors.Join(err, b.world.serversGone())
}

// countsOnce judges the end of such a story.
func countsOnce(b *interfered, was, is end) findings {
	if b.wary {
		return noMore(was, is)
	}
	return unhurt(b, was, is)
}

// olderControl hides from a folder that its database is an earlier one, and does again what was done.
func olderControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("decided", "", fault.RunnerBegins)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of older databases: %w", err)
	}
	if f := append(b.found, countsOnce(b, b.was, is)...); len(f) > 0 || !b.wary {
		return fmt.Errorf("the story of the control of older databases: %v, kept in %s", f, b.world.root)
	}
	// The decision has been taken: the database counts, and nothing is refused any more.
	if err := b.drivesNothing(); err != nil {
		return err
	}
	l.control("a database that is older than its folder is driven", silent, b.found)
	is.saw["mark-a"] = b.was.saw["mark-a"] + 1
	l.control("what the lost record says was done is done again", twice, countsOnce(b, b.was, is))
	return b.world.close(false)
}
