//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/db"
	"agent/scripts/bench/bare"
)

// journalSize is what a turn with a result of 1 KiB leaves on the disk, what it has written on the
// way, and how long it takes, in short and in long runs: none of it may grow with the run.
func journalSize(ctx context.Context, b *bench) ([]row, error) {
	sizes := []int{100, 1000, 10000}
	real := sizes
	if b.quick {
		real = sizes[:2]
	}
	empty, err := b.leaves(ctx, 0)
	if err != nil {
		return nil, err
	}
	var left, written, times []row
	for _, turns := range real {
		what := fmt.Sprintf("in a run of %d turns", turns)
		d, err := b.leaves(ctx, turns)
		if err != nil {
			return left, fmt.Errorf("%s: %w", what, err)
		}
		each := func(n, less int64) float64 { return float64(n-less) / float64(turns) / 1e3 }
		left = append(left, cost("left on the disk by a turn, "+what, each(d.left, empty.left), "KB",
			each(d.facts, empty.facts), "of facts as JSON"))
		least, err := b.bareWrites(ctx, d.size, turns)
		if err != nil {
			return left, fmt.Errorf("%s: %w", what, err)
		}
		written = append(written, above(cost("written to the disk by a turn, "+what, each(d.written, empty.written), "KB",
			float64(least)/float64(turns)/1e3, "for two bare SQLite commits of the same bytes"), whyWritten))
	}
	for _, turns := range sizes {
		last, first, err := b.lastAndFirst(ctx, turns)
		if err != nil {
			return left, fmt.Errorf("time of turns after %d: %w", turns, err)
		}
		times = append(times, cost(fmt.Sprintf("time of a turn after %d turns", turns), median(last, time.Millisecond), "ms",
			median(first, time.Millisecond), "for the first turns of a run"))
	}
	return append(append(left, written...), times...), nil
}

const whyWritten = "SQLite writes whole pages of 4 KiB to its log, and later brings them in. A bare commit changes one page; a commit of a turn " +
	"three, as its log shows: the journal's, the run's row and the call's"

// above explains a row whose ratio asks for it.
func above(r row, why string) row {
	if r.Ratio > 1.5 {
		return r.because(why)
	}
	return r
}

// traces are what a run has left, in bytes.
type traces struct {
	left    int64 // in the state folder, the database closed
	written int64 // given to the disk by this process
	facts   int64 // the bodies of the journal as JSON
	size    bare.Turn
}

// leaves drives a run of so many turns in a state folder of its own.
func (b *bench) leaves(ctx context.Context, turns int) (t traces, err error) {
	p, err := b.openHost(ctx)
	if err != nil {
		return t, err
	}
	before, err := writtenBytes()
	if err == nil {
		err = p.begin(ctx, looping{turns: turns, calls: instantCalls(0)})
	}
	if err == nil && turns > 1 {
		t.size, err = p.bytesOf(ctx, 1)
	}
	if err = errors.Join(err, p.close()); err != nil {
		return t, err
	}
	after, err := writtenBytes()
	if err != nil {
		return t, err
	}
	t.written = after - before
	if t.left, err = sizeOf(p.home); err != nil {
		return t, err
	}
	t.facts, err = factBytes(ctx, p.home)
	return t, err
}

// factBytes is the size of all facts of the one run of a state folder, as JSON.
func factBytes(ctx context.Context, home string) (sum int64, err error) {
	store, err := db.OpenRead(ctx, home)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	runs, err := store.Runs(ctx, db.Filter{})
	if err != nil {
		return 0, err
	}
	for e, err := range store.Load(ctx, runs[0].ID, 0) {
		if err != nil {
			return sum, err
		}
		body, err := json.Marshal(e.Body)
		if err != nil {
			return sum, err
		}
		sum += int64(len(body))
	}
	return sum, nil
}

// bareWrites is what two bare commits a turn give the disk to write.
func (b *bench) bareWrites(ctx context.Context, size bare.Turn, turns int) (int64, error) {
	l, err := b.openBare(ctx)
	if err != nil {
		return 0, err
	}
	before, err := writtenBytes()
	for range turns {
		err = errors.Join(err, l.Turn(size))
	}
	err = errors.Join(err, l.Close())
	after, lastErr := writtenBytes()
	return after - before, errors.Join(err, lastErr)
}

// sizeOf is the size of all files below a folder, in bytes.
func sizeOf(root string) (sum int64, err error) {
	err = filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// writtenBytes is what this process has given the disk to write so far.
func writtenBytes() (int64, error) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var n int64
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n, nil
		}
	}
	return 0, errors.New("/proc/self/io names no write_bytes")
}
