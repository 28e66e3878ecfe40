//go:build linux

package rewinds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
)

// endings are the ends of families in which nobody was killed.
type endings struct {
	lab *lab.Lab
	mu  sync.Mutex
	all map[string]*attempt
}

// of is a family's story in which nobody was killed.
func (e *endings) of(ctx context.Context, family string) (*attempt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x, ok := e.all[family]; ok {
		return x, nil
	}
	x, err := carryOut(ctx, e.lab, script{family: family, situation: destroy}, nil)
	if err != nil {
		return nil, err
	}
	f, err := x.ended()
	if err != nil {
		return nil, err
	}
	if f = append(x.Found, f...); len(f) > 0 {
		return nil, errors.Join(fmt.Errorf("the family %s finds without a kill %v, kept in %s", family, f, x.World.Root), x.World.SaveTranscript(family), x.World.Close(true))
	}
	if e.all == nil {
		e.all = map[string]*attempt{}
	}
	e.all[family] = x
	return x, x.World.Close(false)
}

// hasGit says whether the workspace has its repository still.
func (x *attempt) hasGit() bool {
	_, err := os.Lstat(filepath.Join(x.World.Dir, ".git"))
	return err == nil
}

// stands looks at the repository, which no rewind may touch, and has git look too.
func (x *attempt) stands() (f judge.Findings, err error) {
	now, err := standing(x.World.Dir)
	if err != nil {
		return nil, err
	}
	if now != x.stood {
		f.Add(judge.Differs, "the repository stands at %+v, and the run left it at %+v", now, x.stood)
	}
	status := ""
	if x.hasGit() {
		if text, err := git(x.World, "fsck", "--no-dangling"); err != nil {
			f.Add(judge.Broken, "%v %s", err, text)
		}
		if status, err = git(x.World, "status", "--porcelain", "--ignored"); err != nil {
			f.Add(judge.Broken, "%v", err)
		}
	}
	x.status = append(x.status, status)
	if x.stage == redoing && !x.turned {
		f = append(f, x.givenBack()...)
	}
	return f, nil
}

// givenBack compares the workspace behind the undo with what it is to be.
func (x *attempt) givenBack() (f judge.Findings) {
	all := func(string) bool { return true }
	if x.script.situation == voided && x.met {
		return x.undone.differ(x.touched, all, judge.Differs, "after a rewind whose plan was void")
	}
	want := x.wanted()
	f = x.undone.differ(want, x.family.given, judge.Lost, "after the undo")
	f = append(f, x.undone.differ(want, func(path string) bool { return !x.family.given(path) }, judge.Differs, "after the undo")...)
	for path := range want {
		if x.undone[path] == want[path] && x.touched[path] != want[path] {
			x.restored++
		}
	}
	return f
}

// ended judges the end of all stages by the script alone.
func (x *attempt) ended() (f judge.Findings, err error) {
	all := func(string) bool { return true }
	switch {
	case x.turned:
		f = x.undone.differ(x.touched, all, judge.Lost, "after a rewind that was taken back in its middle")
	case x.stage == over:
		f = x.again.differ(x.touched, all, judge.Lost, "after the undo of the undo")
	}
	for i, h := range x.Histories {
		want := "completed"
		if x.script.situation == voided && x.met && i == len(x.Histories)-1 {
			want = "failed"
		}
		if x.turned && i == 1 {
			want = "cancelled"
		}
		if h.Run.Status != want && x.Unknown == 0 {
			f.Add(judge.Stuck, "run %s (%s) is left %s, and is to be %s", h.Run.ID, h.Prompt, h.Run.Status, want)
		}
	}
	saw, err := x.World.Witness.Counts()
	if err != nil {
		return f, err
	}
	for _, letter := range slices.Sorted(maps.Keys(x.family.commands)) {
		n := saw[marks.In(x.World.Number, letter)]
		if n > 1 {
			f.Add(judge.Twice, "the effect %s happened %d times", letter, n)
		} else if n < 1 && x.Unknown == 0 {
			f.Add(judge.Lost, "the effect %s happened %d times", letter, n)
		}
	}
	return f, nil
}

// judge judges the end of a script.
func (x *attempt) judge(ctx context.Context, was *endings) error {
	if len(x.Found) > 0 {
		return nil
	}
	found, err := x.ended()
	if err != nil {
		return err
	}
	x.Found = append(x.Found, found...)
	for _, c := range x.Needless {
		if x.script.victim != "both" && !x.turned {
			x.Found.Add(judge.Needless, "no runner was killed, and the outcome of call %s is recorded as unknown", c)
		}
	}
	if x.script.halts() || x.Unknown > 0 {
		return nil // its workspace is another than that of a story in which nobody wrote
	}
	end, err := was.of(ctx, x.script.family)
	if err != nil {
		return err
	}
	all := func(string) bool { return true }
	x.Found = append(x.Found, x.after.differ(end.after, all, judge.Differs, "after the run")...)
	for i, status := range x.status {
		if status != end.status[i] && !(x.turned && i == len(x.status)-1) {
			x.Found.Add(judge.Differs, "git status says %q, and without a kill %q", status, end.status[i])
		}
	}
	return nil
}
