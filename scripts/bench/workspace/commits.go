//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/host/commits"
	"agent/host/drive"
	"agent/recovery/journal"
)

// Limits in milliseconds: of what is asked of git's logs beside a call, of looking for commits, at
// first and of each, and of listing one. And the sizes of the repositories.
const (
	marksLimit  = 1.5
	fixedLimit  = 250
	commitLimit = 1
	logLimit    = 1
	branches    = 100
	history     = 1000 // commits
	linkedEvery = 5    // of which one is linked
)

// nothing finds nothing of files: what is measured is what finds commits.
type nothing struct{}

func (nothing) Before(context.Context, drive.FilesCall) (f drive.Found, err error)      { return f, nil }
func (nothing) After(context.Context, drive.FilesCall, []journal.Event) (f drive.Found) { return f }
func (nothing) Ahead(journal.RunCreated)                                                {}
func (nothing) Last(context.Context, journal.RunCreated) (f drive.Found)                { return f }
func (nothing) Left(journal.RunCreated)                                                 {}
func (nothing) Dropped(journal.RunCreated)                                              {}
func (nothing) Ended(journal.RunCreated)                                                {}

// linking measures what it costs to link commits with runs.
func (b *bench) linking(ctx context.Context) (err error) {
	dir, err := b.files("branches", 947, false)
	if err != nil {
		return err
	}
	if err := sh(ctx, dir, repository+fmt.Sprintf("; for i in $(seq %d); do git branch b$i; done", branches)); err != nil {
		return err
	}
	k, err := b.keep(ctx, "branches", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	w := &commits.Watcher{Files: nothing{}, Process: k.keeper.Process}
	call := func(does func() error) error {
		k.turn++
		found, err := w.Before(ctx, k.call())
		if err = errors.Join(err, does()); err != nil {
			return err
		}
		k.seen = found.Facts
		k.seen = append(k.seen, w.After(ctx, k.call(), nil).Facts...)
		return nil
	}
	what := fmt.Sprintf(", %d branches", branches)
	took, err := cpu(9, syscall.RUSAGE_SELF, func() error {
		for range 20 { // one is shorter than a tick of the processor's clock on some machines
			if err := call(func() error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.row("git's logs beside a call, nothing committed"+what, took/20, "ms", marksLimit, "")
	one := func(commit string) (float64, error) {
		return cpuOfAll(b.times(20), func() error {
			return call(func() error { return sh(ctx, dir, "echo >> d000/e000/f1; "+commit) })
		})
	}
	with, err := one("git commit -q -a -m one")
	if err != nil {
		return err
	}
	if len(k.seen) != 1 {
		return fmt.Errorf("a call with one commit has %d facts about commits", len(k.seen))
	}
	without, err := cpuOfAll(b.times(20), func() error { return sh(ctx, dir, "echo >> d000/e000/f1; git commit -q -a -m one") })
	if err != nil {
		return err
	}
	b.row("git's logs beside a call, one commit"+what, with-without, "ms", 0, fmt.Sprintf("the commit itself %.1f", without))
	return b.listing(ctx)
}

// cpuOfAll is what a task takes of the processor in this process and in those that it starts, in
// milliseconds: the median of n times.
func cpuOfAll(n int, task func() error) (float64, error) {
	children := used(syscall.RUSAGE_CHILDREN)
	self, err := cpu(n, syscall.RUSAGE_SELF, task)
	return self + float64(used(syscall.RUSAGE_CHILDREN)-children)/float64(n)/float64(time.Millisecond), err
}

// listing measures agent log in a long history.
func (b *bench) listing(ctx context.Context) (err error) {
	n := history
	if b.quick {
		n = 100
	}
	dir, err := b.files("history", 100, false)
	if err != nil {
		return err
	}
	if err := sh(ctx, dir, repository); err != nil {
		return err
	}
	k, err := b.keep(ctx, "histories", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if _, err := commits.CatchUp(ctx, k.keeper.Process, dir); err != nil {
		return err
	}
	if err := k.looking(b, dir, "f1", n, "none of a run's"); err != nil {
		return err
	}
	if err := k.link(dir); err != nil {
		return err
	}
	linked := 0
	took, err := cpuOfAll(b.times(5), func() error {
		v, err := commits.Log(ctx, k.keeper.Process, dir, "", n)
		linked = 0
		for _, c := range v.Commits {
			linked += len(c.Links)
		}
		return err
	})
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("agent log, %d commits", n), took, "ms", float64(n)*logLimit, fmt.Sprintf("%d linked", linked))
	return k.looking(b, dir, "f2", n, "others' linked")
}

// looking measures how long it takes to find that no run has anything in so many commits of a file.
func (k *kept) looking(b *bench, dir, file string, n int, what string) error {
	if err := sh(k.ctx, dir, fmt.Sprintf("for i in $(seq %d); do echo $i >> d000/e000/%s; git commit -q -a -m $i; done", n, file)); err != nil {
		return err
	}
	took, err := cpuOfAll(1, func() error {
		l, err := commits.CatchUp(k.ctx, k.keeper.Process, dir)
		if err == nil && l.Recorded > 0 {
			err = fmt.Errorf("%d facts of commits in which no run has anything", l.Recorded)
		}
		return err
	})
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("looking for a person's commits, %s, %d commits", what, n), took, "ms", fixedLimit+float64(n)*commitLimit, "")
	return nil
}

// link records that one of a few commits holds work of the run.
func (k *kept) link(dir string) error {
	c := exec.CommandContext(k.ctx, "git", "log", "--format=%H %T %P %at %s")
	c.Dir = dir
	text, err := c.Output()
	if err != nil {
		return fmt.Errorf("list the commits: %v", err)
	}
	var bodies []journal.Body
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		if i%linkedEvery > 0 || len(f) < 5 {
			continue
		}
		bodies = append(bodies, journal.CommitSeen{
			Checkpoint: fmt.Sprintf("k-%012d", i), Repo: filepath.Join(dir, ".git"), Commit: f[0], Tree: f[1], Parents: f[2:3], Subject: f[4],
			Author: "Bench <bench@example.com>", Relation: journal.CommitMade, Proof: journal.CommitByBlobs, Paths: []string{"d000/e000/f1"},
			Share: 1, Files: 1, Trailer: journal.TrailerNone,
		})
	}
	begun, _ := dbtest.Turn(1, "c-00000001", "done")
	k.head, err = k.store.Append(k.ctx, k.head, append(begun, dbtest.InTurn(1, bodies...)...), db.AppendOptions{})
	return err
}
