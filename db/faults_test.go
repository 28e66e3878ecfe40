//go:build linux

package db

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// envFaults makes the test binary a process in which every file of SQLite's may fail.
const envFaults = "AGENT_DB_TEST_FAULTS"

// Whatever operation fails, once or for good, because the disk fails or is full: nothing that was
// reported as written is lost, the file is whole, and after a commit with an error nothing more is
// written by that process. // RELIABILITY 2.3
func TestEveryFault(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^TestEveryFaultHere$", "-test.v")
	c.Env = append(os.Environ(), envFaults+"=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "faults: ") {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "faults: ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// TestEveryFaultHere is the child of TestEveryFault: the file system that it puts before SQLite's
// stays for the whole process.
func TestEveryFaultHere(t *testing.T) {
	if os.Getenv(envFaults) == "" {
		t.Skip("only as a child")
	}
	from := stateDir(t)
	s := openStore(t, from)
	h := startRun(t, s, "r-everyfau")
	a, _ := turnFacts(1, "c-11111111", "")
	h = appendAll(t, s, h, a, AppendOptions{})
	left := filepath.Join(t.TempDir(), "left") // as kill -9 leaves it, with its log
	if err := os.CopyFS(left, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := failOnDemand(); err != nil {
		t.Fatal(err)
	}
	stories, unsure, step := 0, 0, 2
	if !whole() {
		step = 13
	}
	for _, plan := range []ioPlan{{}, {sticky: true}, {full: true}, {full: true, sticky: true}} {
		for n := 1; ; n += step {
			plan.at = n
			f := faultStory{t: t, left: left, h: h, plan: plan}
			f.tell()
			if f.plan.seen < n {
				break
			}
			stories++
			unsure += f.unsure
		}
	}
	t.Logf("faults: %d stories, %d commits with an error that were kept", stories, unsure)
	if stories < 15 {
		t.Errorf("only %d stories came by a fault", stories)
	}
}

// faultStory opens what a crash has left, goes on with its run, closes it, and is hurt somewhere on
// the way.
type faultStory struct {
	t      *testing.T
	left   string
	h      Head
	plan   ioPlan
	acked  int64 // the last fact that was reported as written
	unsure int   // facts that are there although their commit returned an error
}

func (f *faultStory) tell() {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "state")
	if err := errors.Join(os.CopyFS(dir, os.DirFS(f.left)), os.Chmod(dir, 0o700)); err != nil {
		f.t.Fatal(err)
	}
	f.acked, f.plan.dir = f.h.Seq, dir
	planned.Store(&f.plan)
	o := Options{NoBallast: true, Alone: true, FirstAfterCrash: true}
	s, err := Open(context.Background(), dir, o)
	if err == nil {
		f.write(s)
		_ = s.Close() // it may fail like all else
	}
	planned.Store(nil)
	if s, err = Open(context.Background(), dir, o); err != nil {
		f.t.Fatalf("%+v: open it once the disk is mended: %v", f.plan, err)
	}
	got := loadAll(f.t, s, f.h.Run)
	if n := int64(len(got)); n < f.acked {
		f.t.Errorf("%+v: %d facts are there, %d were reported as written", f.plan, n, f.acked)
	} else if n > f.acked {
		f.unsure++
	}
	if list, _ := damages(f.t, s); len(list) > 0 {
		f.t.Errorf("%+v: %q", f.plan, list)
	}
	h, err := s.Head(context.Background(), f.h.Run)
	if err == nil {
		_, err = s.Append(context.Background(), h, inTurn(h.Turns, journal.RunNoted{Text: "it is mended"}), AppendOptions{})
	}
	if err := errors.Join(err, s.Close(), os.RemoveAll(dir)); err != nil {
		f.t.Errorf("%+v: go on once the disk is mended: %v", f.plan, err)
	}
}

// write goes on with the run, as a host would that pays no heed to errors.
func (f *faultStory) write(s *Store) {
	f.t.Helper()
	h, dead := f.h, false
	_, b := turnFacts(1, "c-11111111", strings.Repeat("x", 40<<10))
	a, _ := turnFacts(2, "c-22222222", "")
	for _, facts := range [][]journal.Event{b, a, inTurn(2, journal.RunNoted{Text: "more"}), inTurn(2, journal.RunNoted{Text: "the last"})} {
		next, err := s.Append(context.Background(), h, facts, AppendOptions{})
		switch {
		case err == nil && dead:
			f.t.Errorf("%+v: fact %d is written after a commit with an error", f.plan, next.Seq)
		case err == nil:
			h, f.acked = next, next.Seq
		case errors.As(err, new(*CommitError)):
			dead = true
		}
	}
}
