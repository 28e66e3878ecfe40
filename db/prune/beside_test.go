package prune

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/keep"
	"agent/recovery/journal"
)

// many fills the store with finished runs. Commits are shared, so it takes less than their fsyncs.
func (w *world) many(n int) {
	w.Helper()
	var all sync.WaitGroup
	next := make(chan int)
	for range 64 {
		all.Go(func() {
			for i := range next {
				run := fmt.Sprintf("r-m%05d", i)
				facts := dbtest.Started(run, "t-"+run[2:])
				h, err := w.s.Create(w.Context(), db.ThreadRef{ID: "t-" + run[2:], Folder: "/work", New: true}, facts)
				for turn := 1; turn <= 3 && err == nil; turn++ {
					a, b := dbtest.Turn(turn, fmt.Sprintf("c-%05d%d", i, turn), string(make([]byte, 200*(i%40))))
					if h, err = w.s.Append(w.Context(), h, append(a, b...), db.AppendOptions{}); err != nil {
						break
					}
				}
				if err == nil {
					_, err = w.s.Append(w.Context(), h, dbtest.InTurn(4, journal.RunCompleted{Text: "done"}), db.AppendOptions{})
				}
				if err != nil {
					w.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// Finished runs are removed beside one that another process drives, and it goes on. How long its
// commits wait is in scripts/bench; here it is printed.
// All 10,000: AGENT_TESTS=whole go test ./db/prune -run Beside -v
func TestBesideARunningOne(t *testing.T) {
	w := newWorld(t)
	n := 400
	if os.Getenv("AGENT_TESTS") == "whole" {
		n = 10000
	}
	w.many(n)
	other, err := db.Open(t.Context(), w.s.Dir(), db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	h, err := other.Create(t.Context(), db.ThreadRef{ID: "t-run", Folder: "/work/t-run", New: true}, dbtest.Started("r-run", "t-run"))
	if err != nil {
		t.Fatal(err)
	}
	pace := time.NewTicker(4 * time.Millisecond)
	defer pace.Stop()
	drive := func(until func() bool) (took []time.Duration) {
		for turn := int(h.Turns) + 1; !until(); turn++ {
			a, b := dbtest.Turn(turn, fmt.Sprintf("c-run%d", turn), "fine")
			for _, facts := range [][]journal.Event{a, b} {
				<-pace.C
				began := time.Now()
				if h, err = other.Append(t.Context(), h, facts, db.AppendOptions{}); err != nil {
					t.Error(err)
					return took
				}
				took = append(took, time.Since(began))
			}
		}
		slices.Sort(took)
		return took
	}
	k := 0
	alone := drive(func() bool { k++; return k > 300 })
	p := w.plan(Want{})
	if len(p.Go) != n {
		t.Fatalf("%d threads go", len(p.Go))
	}
	before := fileSize(t, w.s)
	done, began := make(chan Report), time.Now()
	go func() {
		r, err := Remove(t.Context(), w.s, p.Go, w.hands())
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	var r Report
	beside := drive(func() bool {
		select {
		case r = <-done:
			return true
		default:
			return false
		}
	})
	last := func(d []time.Duration) time.Duration { return d[len(d)-1] }
	t.Logf("%d runs in %s; a commit takes %s (%s at most) alone, and %s (%s at most) beside; %d bytes given back of %d",
		r.Runs, time.Since(began).Round(time.Millisecond), alone[len(alone)/2], last(alone), beside[len(beside)/2], last(beside), r.Freed, before)
	if r.Runs != n {
		t.Errorf("%d runs were removed", r.Runs)
	}
	if len(beside) < 10 {
		t.Errorf("the run beside committed %d times", len(beside))
	}
	if err := other.MayDrive(t.Context()); err != nil {
		t.Error(err)
	}
	w.gone()
	if err := w.s.Close(); err != nil {
		t.Error(err)
	}
}

func fileSize(t *testing.T, s *db.Store) int64 {
	t.Helper()
	info, err := os.Stat(s.File().Path())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Contents that a run begins to need while they are about to go stay, whenever it names them.
func TestContentsNamedMeanwhile(t *testing.T) {
	for moment := range 10 {
		w := newWorld(t)
		w.namesAt(moment)
	}
}

func (w *world) namesAt(moment int) {
	w.Helper()
	contents := [][]byte{[]byte("small"), noise(1), noise(2)}
	old := w.run("", nil, nil)
	for _, c := range contents {
		old = w.keep(old, old.Thread, c)
	}
	w.turn(old, "fine", true)
	w.age()
	going := w.run("", nil, nil)
	kept, err := w.s.Contents()
	if err != nil {
		w.Fatal(err)
	}
	staged := make([]keep.Row, 0, 3)
	for _, c := range contents { // what it found is there, and not yet named
		row, err := kept.Stage(w.Context(), c)
		if err != nil {
			w.Fatal(err)
		}
		staged = append(staged, row)
	}
	if err := db.Keep(w.Context(), w.s, staged[1:2]); err != nil {
		w.Fatal(err)
	}
	steps, hands := 0, w.hands()
	hands.Enough = func() bool {
		if steps == moment {
			going = w.keep(going, going.Thread, contents[0])
		}
		steps++
		return false
	}
	if _, err := Remove(w.Context(), w.s, w.plan(Want{}).Go, hands); err != nil {
		w.Fatal(err)
	}
	fact := journal.FilesChanged{Look: 2, Changes: []journal.FileChange{}}
	for _, row := range staged[1:] {
		fact.Changes = append(fact.Changes, journal.NewFileChange(row.Name, journal.ProofWhile, nil, &journal.FileVersion{Kind: journal.FileRegular, Size: row.Size, Kept: row.Name}))
	}
	rows := staged[2:] // the other was stored before its fact
	if _, err := w.s.Append(w.Context(), going, dbtest.InTurn(1, fact), db.AppendOptions{Kept: rows}); err != nil {
		w.Fatal(err)
	}
	for i, row := range staged {
		if i == 0 && steps <= moment {
			continue // it was not named
		}
		if _, err := kept.Get(w.Context(), row.Name); err != nil {
			w.Errorf("named at step %d of %d, content %d: %v", moment, steps, i, err)
		}
	}
	w.sound(true)
}
