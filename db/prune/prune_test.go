package prune

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// plan looks for what may go.
func (w *world) plan(want Want) Plan {
	w.Helper()
	want.Now = w.now
	p, err := Look(w.Context(), w.s, want)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *world) remove(p Plan) Report {
	w.Helper()
	r, err := Remove(w.Context(), w.s, p.Go, w.hands())
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func TestWhatStaysReadsAsBefore(t *testing.T) {
	for seed := range seed.Numbers(t, 2) {
		w := newWorld(t)
		w.random(rand.New(rand.NewPCG(seed, 1)), 60)
		w.sound(false)
		w.age()
		before, p := w.facts(), w.plan(Want{Older: 24 * time.Hour, Keep: 10})
		if len(p.Go) < 10 || len(p.Stay) == 0 {
			t.Fatalf("%d threads go and %d stay: this shows nothing", len(p.Go), len(p.Stay))
		}
		r := w.remove(p)
		if r.Runs != p.Runs() || r.Threads != len(p.Go) || r.Later != "" {
			t.Errorf("%+v, and %d runs were to go", r, p.Runs())
		}
		w.reads(before, p)
		w.gone()
		w.sound(false)
		if n := w.count("PRAGMA freelist_count"); n != 0 {
			t.Errorf("%d pages are free and were not given back", n)
		}
		if left := w.plan(Want{Older: 24 * time.Hour, Keep: 10}); len(left.Go) > 0 {
			t.Errorf("the next look finds %d threads more", len(left.Go))
		}
	}
}

func TestWhatIsNeededStays(t *testing.T) {
	w := newWorld(t)
	done := w.turn(w.run("", nil, nil), "fine", true)
	going := w.turn(w.run("", nil, nil), "fine", false)
	doubtful := w.unknown(w.run("", nil, nil))
	asking := w.run("", nil, nil)
	w.add(asking, dbtest.Events(dbtest.Question("p-1234"))...)
	source := w.turn(w.run("", nil, nil), "fine", true)
	middle := w.turn(w.run("", nil, func(c *journal.RunCreated) { c.From = &journal.Position{Run: source.Run, Turn: 1} }), "fine", true)
	w.run("", nil, func(c *journal.RunCreated) { c.From = &journal.Position{Run: middle.Run, Turn: 1} })
	root := w.run("", nil, nil)
	child := w.unknown(w.run("", w.row(root.Run), nil))
	w.turn(root, "fine", true)

	p := w.plan(Want{})
	if len(p.Go) != 1 || p.Go[0].ID != done.Thread {
		t.Errorf("these go: %+v", p.Go)
	}
	got := map[string]Staying{}
	for _, s := range p.Stay {
		got[s.Thread] = s
	}
	for thread, want := range map[string]Staying{
		going.Thread:    {Why: Unfinished, Run: going.Run},
		doubtful.Thread: {Why: Unknown, Run: doubtful.Run, Need: "c-" + doubtful.Run[2:] + "u"},
		asking.Thread:   {Why: Question, Run: asking.Run, Need: "p-1234"},
		source.Thread:   {Why: Forked, Run: middle.Run},
		middle.Thread:   {Why: Forked, Run: "r-0007"},
		root.Thread:     {Why: Unknown, Run: child.Run, Need: "c-" + child.Run[2:] + "u"},
	} {
		s := got[thread]
		if s.Why != want.Why || s.Run != want.Run || s.Need != want.Need {
			t.Errorf("thread %s stays for %+v, and not for %+v", thread, s, want)
		}
	}
	if p := w.plan(Want{Runs: []string{middle.Run}}); len(p.Go) != 0 || len(p.Stay) != 1 || p.Stay[0].Why != Forked {
		t.Errorf("a run by its name: %+v", p)
	}
	if p := w.plan(Want{Runs: []string{done.Run}}); len(p.Go) != 1 || p.Left != 7 {
		t.Errorf("a run by its name: %+v", p)
	}
}

func TestNewestStay(t *testing.T) {
	w := newWorld(t)
	var runs []db.Head
	for range 6 {
		w.now = w.now.Add(24 * time.Hour)
		runs = append(runs, w.turn(w.run("", nil, nil), "fine", true))
	}
	for _, x := range []struct {
		want Want
		goes int
	}{{Want{Keep: 2}, 4}, {Want{Older: 60 * time.Hour}, 3}, {Want{Older: 60 * time.Hour, Keep: 4}, 2}, {Want{Older: time.Hour, Keep: 6}, 0}} {
		if p := w.plan(x.want); len(p.Go) != x.goes || len(p.Go) > 0 && p.Go[0].ID != runs[0].Thread {
			t.Errorf("%+v: %d threads go", x.want, len(p.Go))
		}
	}
}

func TestKeysAndIDsStayTaken(t *testing.T) {
	w := newWorld(t)
	h := w.turn(w.run("", nil, func(c *journal.RunCreated) { c.StartKey, c.StartDigest = "nightly 7", "digest" }), "fine", true)
	newer := w.turn(w.run("", nil, nil), "fine", true)
	w.remove(w.plan(Want{Runs: []string{h.Run}}))
	var gone *db.PrunedError
	if _, _, err := w.s.StartedWith(t.Context(), "nightly 7"); !errors.As(err, &gone) || gone.Run != h.Run {
		t.Errorf("its start key: %v", err)
	}
	again := dbtest.Started("r-9999", "t-9999")
	c := again[0].Body.(journal.RunCreated)
	c.StartKey = "nightly 7"
	again[0].Body = c
	if _, err := w.s.Create(t.Context(), db.ThreadRef{ID: "t-9999", New: true}, again); !errors.As(err, &gone) {
		t.Errorf("a run with the same key: %v", err)
	}
	same := dbtest.Started(h.Run, "t-9998")
	if _, err := w.s.Create(t.Context(), db.ThreadRef{ID: "t-9998", New: true}, same); !errors.Is(err, db.ErrIDTaken) {
		t.Errorf("a run with the same id: %v", err)
	}
	if _, err := w.s.Create(t.Context(), db.ThreadRef{ID: h.Thread}, dbtest.Started("r-9997", h.Thread)); !errors.As(err, new(*db.UnknownIDError)) {
		t.Errorf("a run in its thread: %v", err)
	}
	w.remove(w.plan(Want{Runs: []string{newer.Run}})) // the mark beside the store names it
	if err := w.s.MayDrive(t.Context()); err != nil {
		t.Error(err)
	}
	if next := w.run("", nil, nil); next.No <= newer.No {
		t.Errorf("number %d is given again", next.No)
	}
}

// A removal that is stopped after any commit leaves a sound store, and the next one does the rest.
func TestStoppedAtEveryCommit(t *testing.T) {
	w := newWorld(t)
	w.random(rand.New(rand.NewPCG(7, 1)), 14)
	w.turn(w.run("", nil, nil), "last", false)
	before, p := w.facts(), w.plan(Want{})
	if err := w.s.Close(); err != nil {
		t.Fatal(err)
	}
	for stop := 1; ; stop++ {
		v := w.copyOf(t)
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		v.hit = func(at fault.Point) {
			if at == fault.AfterCommit {
				if n++; n == stop {
					cancel()
				}
			}
		}
		v.age()
		_, err := Remove(ctx, v.s, p.Go, v.hands())
		stopped := ctx.Err() != nil && err != nil
		cancel()
		v.hit = func(fault.Point) {}
		v.sound(true)
		next := v.plan(Want{})
		for run := range v.facts() {
			if !slices.ContainsFunc(next.Go, func(t Thread) bool { return slices.ContainsFunc(t.Runs, func(r Run) bool { return r.ID == run }) }) && len(before[run]) == 0 {
				t.Errorf("stopped after commit %d: run %s came from nowhere", stop, run)
			}
		}
		v.remove(next)
		v.reads(before, p)
		v.gone()
		v.sound(false)
		if t.Failed() || !stopped {
			break
		}
	}
}
