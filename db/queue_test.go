package db

import (
	"context"
	"fmt"
	"testing"

	"agent/db/sqlitefile"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// A panic in the middle of a commit leaves nobody waiting; its transaction is undone, and who
// writes after it can.
func TestPanicInACommit(t *testing.T) {
	ctx := context.Background()
	dir := stateDir(t)
	s := openStore(t, dir)
	h := startRun(t, s, "r-panicpan")
	other := startRun(t, s, "r-panicoth")
	second := make(chan error, 1)
	s.o.Hit = func(point fault.Point) {
		s.o.Hit = func(fault.Point) {}
		go func() {
			_, err := s.Append(ctx, other, events(journal.RunNoted{Text: "after"}), AppendOptions{})
			second <- err
		}()
		panic("at " + point)
	}
	first := func() (p any) {
		defer func() { p = recover() }()
		_, err := s.Append(ctx, h, events(journal.RunNoted{Text: "lost"}), AppendOptions{})
		return err
	}()
	if fmt.Sprint(first) != "at db.before_commit" {
		t.Errorf("the panic became %v", first)
	}
	if err := <-second; err != nil {
		t.Errorf("the store does not go on: %v", err)
	}
	other.Seq++
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := openStore(t, dir)
	for _, run := range []Head{h, other} {
		if got := loadAll(t, again, run.Run); len(got) != int(run.Seq) {
			t.Errorf("%d facts, %d were written", len(got), run.Seq)
		}
	}
}

// What is queued when the store is closed is still written; what comes later is refused.
func TestCloseWithWaitingWrites(t *testing.T) {
	ctx := context.Background()
	dir := stateDir(t)
	s := openStore(t, dir)
	const n = 16
	heads := make([]Head, n)
	for i := range heads {
		heads[i] = startRun(t, s, fmt.Sprintf("r-close%03d", i))
	}
	results := make(chan error, n)
	err := s.file.Between(func(*sqlitefile.Statements) error {
		for i := range heads {
			go func() {
				next, err := s.Append(ctx, heads[i], events(journal.RunNoted{Text: "queued"}), AppendOptions{})
				heads[i] = next
				results <- err
			}()
		}
		waitFor(s, n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	again := openStore(t, dir)
	for _, h := range heads {
		if got := loadAll(t, again, h.Run); len(got) != int(h.Seq) || h.Seq != 4 {
			t.Errorf("run %s has %d facts, %d were reported", h.Run, len(got), h.Seq)
		}
	}
}
