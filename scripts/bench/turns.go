//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"agent/scripts/bench/bare"
)

const (
	atOnce   = 32 // runs in one process
	reads    = 16 // calls of a turn that reads
	manyOwn  = 20 // turns of each of the runs at once, in a round
	oneOwn   = 60 // turns of the run alone, in a round
	warmedUp = 300
)

// turnKind is what the turns of a measure consist of.
type turnKind struct {
	what  string
	reads int    // 0: one call with a side effect
	goes  string // where the host's own time goes, as the CPU profile shows it
}

func (k turnKind) calls() int { return max(k.reads, 1) }

func turnKinds() []turnKind {
	return []turnKind{
		{"one call a turn", 0, "half goes to the two transactions (three statements on three pages each, against one on one page, and the mark " +
			"beside the database), a tenth to encoding, redacting and digesting five facts, a fourteenth to the call's fingerprint and schema, " +
			"a fourteenth to goroutines that wake each other, a twentieth to looking for what other processes left."},
		{fmt.Sprintf("%d reads a turn", reads), reads, "a fifth goes to making the two transactions durable, a fifth to their rows " +
			"(each call's row written and settled, and 35 facts), an eighth to encoding, redacting and digesting those, a sixteenth to fingerprints " +
			"and schemas, an eighth to the collector and memory, a twelfth to goroutines that wake each other."},
	}
}

// turns is how many turns a second a host drives whose model and tools take no time.
func turns(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, k := range turnKinds() {
		some, err := b.turnsOf(ctx, k)
		rows = append(rows, some...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", k.what, err)
		}
	}
	some, err := b.fsyncs(ctx)
	return append(rows, some...), err
}

// turnBench is a host beside its limits.
type turnBench struct {
	*inProcess
	kind   turnKind
	bare   *bare.DB
	synced *bare.Log
	size   bare.Turn
}

func (b *bench) turnsOf(ctx context.Context, k turnKind) (_ []row, err error) {
	t := &turnBench{kind: k}
	if t.inProcess, err = b.openHost(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if t.bare, err = b.openBare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.bare.Close()) }()
	if t.synced, err = bare.OpenLog(b.dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.synced.Close()) }()
	if err := t.warm(ctx); err != nil {
		return nil, err
	}
	one, err := t.alone(ctx, b.times(20))
	if err != nil {
		return nil, err
	}
	many, err := t.together(ctx, b.times(20))
	return append(one, many...), err
}

// warm writes until the logs have their size: a log that grows costs more, and it grows only once.
func (t *turnBench) warm(ctx context.Context) error {
	h, err := t.host(looping{turns: warmedUp, calls: instantCalls(t.kind.reads)})
	if err != nil {
		return err
	}
	if err := t.carryOut(ctx, h); err != nil {
		return err
	}
	if t.size, err = t.bytesOf(ctx, t.kind.calls()); err != nil {
		return err
	}
	for range 2 * warmedUp {
		if err := t.bare.Turn(t.size); err != nil {
			return err
		}
	}
	return nil
}

// took is the durations of turns in the three ways, and what of them the processor worked.
type took struct{ ours, bare, synced, shared, worked, bareWorked []time.Duration }

// limits takes one turn in each of the two ways that are the limit.
func (t *turnBench) limits(d *took) error {
	times, err := takeTurns(1, func() error {
		before := worked()
		err := t.bare.Turn(t.size)
		d.bareWorked = append(d.bareWorked, worked()-before)
		return err
	}, func() error { return t.synced.Turn(t.size) })
	d.bare, d.synced = append(d.bare, times[0]...), append(d.synced, times[1]...)
	return err
}

// worked is the processor time of this process so far, the system's included.
func worked() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it fails for no process that asks about itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rows are the turns a second, beside both limits.
func (t *turnBench) rows(who string, d took) []row {
	a := func(d []time.Duration) float64 { return 1 / median(d, time.Second) }
	figure := who + ", " + t.kind.what
	bytes := fmt.Sprintf("%d and %d bytes", t.size.Answer, t.size.Results)
	return []row{
		above(rate(figure, a(d.ours), "turns/s", a(d.bare), "with two bare SQLite commits a turn, "+bytes), "of the host's own time "+t.kind.goes),
		above(rate(figure, a(d.ours), "turns/s", a(d.synced), "with write and fsync twice a turn, "+bytes), "as above."),
	}
}

// alone is one run. Between two turns, while its model is asked, the limits have theirs.
func (t *turnBench) alone(ctx context.Context, rounds int) ([]row, error) {
	var d took
	var at time.Time
	var before time.Duration
	var limit error
	var first, commits int64
	m := looping{turns: oneOwn, calls: instantCalls(t.kind.reads)}
	m.asked = func(turn int) {
		switch turn {
		case 0:
		case 1:
			first = t.commits.Load()
		case oneOwn:
			commits += t.commits.Load() - first
		}
		if turn > 0 {
			d.ours, d.worked = append(d.ours, time.Since(at)), append(d.worked, worked()-before)
			limit = errors.Join(limit, t.limits(&d))
		}
		at, before = time.Now(), worked()
	}
	h, err := t.host(m)
	if err != nil {
		return nil, err
	}
	for range rounds {
		if err := errors.Join(t.carryOut(ctx, h), limit); err != nil {
			return nil, err
		}
	}
	perTurn := float64(commits) / float64(rounds*(oneOwn-1))
	return append(t.rows("one run", d),
		above(cost("processor time, one run, "+t.kind.what, median(d.worked, time.Microsecond), "us a turn",
			median(d.bareWorked, time.Microsecond), "for two bare SQLite commits"), "of it "+t.kind.goes),
		cost("commits, one run, "+t.kind.what, perTurn, "a turn", 2, "by design")), nil
}

// together is many runs at once. What is timed begins when each of them has settled its first turn,
// and ends with the last turn of the last one. The limits follow, as many turns each as a run has.
func (t *turnBench) together(ctx context.Context, rounds int) ([]row, error) {
	var d took
	var commits int64
	for range rounds {
		took, n, err := t.race(ctx)
		if err != nil {
			return nil, err
		}
		commits += n
		d.ours = append(d.ours, took/(atOnce*(manyOwn-1)))
		each, err := (&bare.Shared{DB: t.bare}).Race(atOnce, manyOwn, t.size)
		if err != nil {
			return nil, err
		}
		d.shared = append(d.shared, each)
		for range manyOwn {
			if err := t.limits(&d); err != nil {
				return nil, err
			}
		}
	}
	perTurn := float64(commits) / float64(rounds*atOnce*(manyOwn-1))
	who := fmt.Sprintf("%d runs at once", atOnce)
	rows := append(t.rows(who, d), above(rate(who+", "+t.kind.what, 1/median(d.ours, time.Second), "turns/s",
		1/median(d.shared, time.Second), fmt.Sprintf("with %d writers of two bare SQLite commits a turn that share commits too", atOnce)),
		"all processors are busy with either: what counts is the processor time of a turn, and the bare one has none but SQLite's. Of ours "+t.kind.goes))
	return append(rows, cost("commits, "+who+", "+t.kind.what, perTurn, "a turn", 2, "for a run alone")), nil
}

// race drives the runs and says how long their turns took from the second on, and how many commits
// that were.
func (t *turnBench) race(ctx context.Context) (took time.Duration, commits int64, err error) {
	ready, done := make(chan error, 2*atOnce), make(chan error, 2*atOnce) // each run says one word to each, or two when it fails
	begin := make(chan struct{})
	m := looping{turns: manyOwn, calls: instantCalls(t.kind.reads)}
	m.asked = func(turn int) {
		switch turn {
		case 1:
			ready <- nil
			<-begin
		case manyOwn:
			done <- nil
		}
	}
	h, err := t.host(m)
	if err != nil {
		return 0, 0, err
	}
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			if err := t.carryOut(ctx, h); err != nil {
				ready <- err
				done <- err
			}
		})
	}
	err = await(ready)
	commits = t.commits.Load()
	began := time.Now()
	close(begin)
	err = errors.Join(err, await(done))
	took, commits = time.Since(began), t.commits.Load()-commits
	all.Wait()
	return took, commits, err
}

// await takes the word of every run.
func await(words <-chan error) (err error) {
	for range atOnce {
		err = errors.Join(err, <-words)
	}
	return err
}
