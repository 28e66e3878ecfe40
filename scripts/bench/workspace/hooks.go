//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/journal"
	"agent/scripts/testkit/testbin"
	"agent/tools/gitrepo/hooklines"
)

// Limits of what the two hooks of git take of a commit, in milliseconds, and runs that the folder
// had before.
const (
	hookLimit = 15
	fewRuns   = 10
	manyRuns  = 500
)

// binary is the binary of the sources that are here.
func binary() (string, error) {
	folder, err := testbin.Make(testbin.Form{})
	return filepath.Join(folder, testbin.Form{}.Program()), err
}

// hooks measures what git's hooks add to a commit: in a call, and by a person in a folder of few
// and of many runs that left nothing of it.
func (b *bench) hooks(ctx context.Context) error {
	exe, err := binary()
	if err != nil {
		return err
	}
	dir, err := b.files("commits", 1000, false)
	if err == nil {
		err = sh(ctx, dir, repository)
	}
	if err != nil {
		return err
	}
	for _, h := range hooklines.Hooks() {
		if err := os.WriteFile(filepath.Join(dir, ".git", "hooks", h.Event), []byte(h.Script(exe)), 0o755); err != nil {
			return err
		}
	}
	many := manyRuns
	if b.quick {
		many = 2 * fewRuns
	}
	for _, runs := range []int{fewRuns, many} {
		if err := b.ran(ctx, fmt.Sprintf("ran-%d", runs), dir, runs); err != nil {
			return err
		}
	}
	const off = "-c core.hooksPath=/dev/null"
	for _, w := range []struct{ what, vars string }{
		{"hooks of a commit in a call", "AGENT_CALL=c-1 AGENT_HOME=/nowhere"},
		{"hooks of a commit, no state folder", "AGENT_HOME=/nowhere"},
		{fmt.Sprintf("hooks of a commit, %d runs before", fewRuns), "AGENT_HOME=" + filepath.Join(b.dir, fmt.Sprintf("ran-%d", fewRuns))},
		{fmt.Sprintf("hooks of a commit, %d runs before", many), "AGENT_HOME=" + filepath.Join(b.dir, fmt.Sprintf("ran-%d", many))},
	} {
		commit := func(options string) func() error {
			return func() error {
				return sh(ctx, dir, fmt.Sprintf("echo >> d000/e000/f1; %s git %s commit -qam one", w.vars, options))
			}
		}
		with, err := least(b.times(40), commit(""))
		if err != nil {
			return err
		}
		without, err := least(b.times(40), commit(off))
		if err != nil {
			return err
		}
		b.row(w.what, with-without, "ms", hookLimit, fmt.Sprintf("the commit itself %.1f", without))
	}
	return nil
}

// least is the least that a task's processes take, in milliseconds: what a commit adds is a small
// difference, which another program on the machine hides in a median.
func least(n int, task func() error) (float64, error) {
	low := time.Duration(0)
	for range n {
		began := used(syscall.RUSAGE_CHILDREN)
		if err := task(); err != nil {
			return 0, err
		}
		if took := used(syscall.RUSAGE_CHILDREN) - began; low == 0 || took < low {
			low = took
		}
	}
	return float64(low) / float64(time.Millisecond), nil
}

// ran makes a state folder in which so many runs of the folder each left the file that is
// committed, with another content, which the store keeps: so what is staged is read.
func (b *bench) ran(ctx context.Context, name, folder string, runs int) (err error) {
	store, err := db.Open(ctx, filepath.Join(b.dir, name), db.Options{NoBallast: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for i := range runs {
		id := fmt.Sprintf("%s-%d", name, i)
		facts := dbtest.Child("r-"+id, "t-"+id, nil)
		c := facts[0].Body.(journal.RunCreated)
		c.Folder = folder
		facts[0].Body = c
		h, err := store.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: folder, New: true}, facts)
		if err != nil {
			return err
		}
		begun, settled := dbtest.Turn(1, "c-"+id, "done")
		left := journal.FilesChanged{Look: 1, Changes: []journal.FileChange{
			journal.NewFileChange("d000/e000/f1", journal.ProofTool, nil, &journal.FileVersion{Size: 1 << 20, Kept: fmt.Sprintf("%064x", i)}),
		}}
		facts = append(append(begun[:1:1], dbtest.InTurn(1, left)...), begun[1:]...)
		if _, err := store.Append(ctx, h, append(facts, settled...), db.AppendOptions{}); err != nil {
			return err
		}
	}
	return nil
}
