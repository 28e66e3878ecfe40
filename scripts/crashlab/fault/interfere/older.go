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
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/trial"
)

// Older puts back the database as it was while a command was stopped, after that command has gone
// on. Where the folder knows of a claim, a question or an end that this database does not, nothing
// may be driven before a person decides, and reading works. Then either the newer database comes
// back and the story ends as if nothing had been done to it ("newer"), or a person lets the older
// one count and allows only what the witness has not seen ("decided"): nothing happens twice.
func Older() lab.Fault {
	return kind{
		name: "older", what: "an earlier database is put back, at every fault point", short: 5,
		all: olders, act: putBack, judge: judgeOlder, control: olderControl,
	}.fault()
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

// putBack copies the database, lets the command go on to its end, and puts the copy in the place of
// what it left.
func putBack(b *interfered, s *trial.Halted) error {
	older, newer := filepath.Join(b.World.Root, "older"), filepath.Join(b.World.Root, "newer")
	if err := errors.Join(os.Mkdir(older, 0o700), os.Mkdir(newer, 0o700)); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	if err := moveDatabase(b.World.State, older, copyFile); err != nil {
		return errors.Join(err, trial.Abort(s.Command))
	}
	_ = os.Remove(filepath.Join(older, "agent.db-shm")) // it is made anew from the log
	if _, err := b.release(s); err != nil {
		return err
	}
	b.World.WaitRunners()
	if err := errors.Join(b.World.WaitServers(), b.Look()); err != nil {
		return err
	}
	is := b.Record
	was, err := journal.Load(older, b.World.Root)
	if err != nil || len(was.Runs) == 0 || milestones(was) == milestones(is) {
		return err
	}
	b.run = was.Runs[0].ID
	if err := moveDatabase(b.World.State, newer, os.Rename); err != nil {
		return err
	}
	if err := moveDatabase(older, b.World.State, copyFile); err != nil {
		return err
	}
	shown := slices.Clone(b.World.Outputs)
	if err := b.drivesNothing(); err != nil {
		return err
	}
	if b.way == "decided" {
		b.Wary = true
		b.Histories, b.World.Outputs = nil, nil // what was kept and shown is lost with the newer database
		o, err := b.runOnly("restore", "--here", "--yes")
		if err == nil && o.Code != 0 {
			b.Found.Add(judge.Stuck, "a person cannot let the older database count:\n%s", o.Text)
		}
		return err
	}
	b.World.Outputs = shown // what the older database shows is not all that the newer one holds
	return moveDatabase(newer, b.World.State, os.Rename)
}

// milestones counts what a folder knows of its database by heart: claims, questions and ends.
func milestones(r *journal.Record) int {
	n := 0
	for _, facts := range r.Facts {
		for _, x := range facts {
			if slices.Contains([]int64{journal.Claimed, journal.Interrupted, journal.Completed, journal.Failed, journal.Cancelled, journal.Opened}, x.Kind) {
				n++
			}
		}
	}
	return n
}

// drivesNothing has everything refused that drives, and nothing that reads.
func (b *interfered) drivesNothing() error {
	before, err := b.World.Witness.Counts()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"resume", b.run}, {"resume", "--all"}, b.Story.ContinueArgs(b.World.URL()), {"ls", "--all"}, {"show", b.run}} {
		o, err := b.runOnly(args...)
		if err != nil {
			return err
		}
		if reads := args[0] == "ls" || args[0] == "show"; reads && !strings.Contains(o.Text, b.run) {
			b.Found.Add(judge.Stuck, "agent %s ends with %d, and shows no run, where the database is older than its folder:\n%s", strings.Join(args, " "), o.Code, o.Text)
		} else if !reads && (o.Code != 1 || !strings.Contains(o.Text, "agent restore --here")) {
			b.Found.Add(judge.Silent, "agent %s ends with %d where the database is older than its folder, and names no way out:\n%s", strings.Join(args, " "), o.Code, o.Text)
		}
	}
	after, err := b.World.Witness.Counts()
	if err == nil && !maps.Equal(before, after) {
		b.Found.Add(judge.Twice, "with a database that is older than its folder %v became %v", before, after)
	}
	return err
}

// runOnly carries out a command that nobody interferes with, and looks at nothing.
func (b *interfered) runOnly(args ...string) (judge.Output, error) {
	b.Commands++
	c, err := b.World.Start("", args...)
	if err != nil {
		return judge.Output{}, err
	}
	o, err := b.await(c)
	return o, errors.Join(err, b.World.WaitServers())
}

// judgeOlder judges the end of such a story.
func judgeOlder(b *interfered, was, is judge.End) judge.Findings {
	if b.Wary {
		return findMore(was, is)
	}
	return judgeUnharmed(b, was, is)
}

// olderControl hides from a folder that its database is an earlier one, and does again what was
// done.
func olderControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("decided", "", fault.RunnerBegins)
	if err != nil {
		return err
	}
	b, is, err := interfere(ctx, l, k, i)
	if err != nil {
		return fmt.Errorf("the control of older databases: %w", err)
	}
	if f := append(b.Found, judgeOlder(b, b.was, is)...); len(f) > 0 || !b.Wary {
		return fmt.Errorf("the story of the control of older databases: %v, kept in %s", f, b.World.Root)
	}
	// The decision has been taken: the database counts, and nothing is refused any more.
	if err := b.drivesNothing(); err != nil {
		return err
	}
	l.Control("a database that is older than its folder is driven", judge.Silent, b.Found)
	is.Saw["mark-a"] = b.was.Saw["mark-a"] + 1
	l.Control("what the lost record says was done is done again", judge.Twice, judgeOlder(b, b.was, is))
	return b.World.Close(false)
}
