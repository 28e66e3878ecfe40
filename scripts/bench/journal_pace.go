//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/host"
	"agent/host/model"
	"agent/recovery"
	"agent/recovery/journal"
)

// lastAndFirst takes turns of a run that has many behind it, and of one that has none, in turns.
// The many are written in large commits; what is timed is the host's own.
func (b *bench) lastAndFirst(ctx context.Context, turns int) (_, _ []time.Duration, err error) {
	const run = "r-long0000"
	many := max(b.times(200), 60)
	var hosts [2]*inProcess
	for i := range hosts {
		if hosts[i], err = b.openHost(ctx); err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, hosts[i].close()) }()
	}
	long, fresh := hosts[0], hosts[1]
	created := journal.RunCreated{Run: run, Prompt: "go", Folder: long.folder, Model: "looping", Mode: journal.ModeYolo}
	if err := grow(ctx, long.store, created, turns); err != nil {
		return nil, nil, err
	}
	for _, p := range hosts { // until the logs have their size again
		if err := p.begin(ctx, looping{turns: 300, calls: instantCalls(0)}); err != nil {
			return nil, nil, err
		}
	}
	old := pace(turns+many, func(m looping) error { return long.resume(ctx, m, run) })
	young := pace(many, func(m looping) error { return fresh.begin(ctx, m) })
	for range many / 2 {
		err = errors.Join(err, old.turn(), young.turn(), young.turn(), old.turn())
	}
	return old.times, young.times, errors.Join(err, old.finish(), young.finish())
}

// begin drives a new run to its end.
func (p *inProcess) begin(ctx context.Context, m model.Model) error {
	h, err := p.host(m)
	if err != nil {
		return err
	}
	return p.carryOut(ctx, h)
}

// resume drives a run of this state folder to its end.
func (p *inProcess) resume(ctx context.Context, m model.Model, run string) error {
	h, err := p.host(m)
	if err != nil {
		return err
	}
	out, err := h.Resume(ctx, run, host.Changes{}, nil)
	if err == nil && out.Status != recovery.StatusCompleted {
		err = fmt.Errorf("run %s is %s: %s", run, out.Status, out.Detail)
	}
	return err
}

// paced is a run that goes on by one turn when it is asked to.
type paced struct {
	next  chan struct{}
	took  chan spent
	ended chan error
	times []time.Duration // of the turns so far
	cpu   []time.Duration // of the processor, meanwhile
}

// spent is what a turn took.
type spent struct{ time, cpu time.Duration }

// pace begins a run, which waits before its next turn.
func pace(turns int, drive func(looping) error) *paced {
	p := &paced{next: make(chan struct{}), took: make(chan spent), ended: make(chan error, 1)}
	var at time.Time
	var before time.Duration
	m := looping{turns: turns, calls: instantCalls(0), asked: func(int) {
		if !at.IsZero() {
			p.took <- spent{time.Since(at), worked() - before}
		}
		<-p.next
		at, before = time.Now(), worked()
	}}
	go func() { p.ended <- drive(m) }()
	return p
}

// turn takes the next turn.
func (p *paced) turn() error {
	select {
	case p.next <- struct{}{}:
	case err := <-p.ended:
		p.ended <- err
		return errors.New("the run has ended before its turn")
	}
	select {
	case d := <-p.took:
		p.times, p.cpu = append(p.times, d.time), append(p.cpu, d.cpu)
		return nil
	case err := <-p.ended:
		p.ended <- err
		return errors.New("the run has ended in its turn")
	}
}

// finish lets the run come to its end.
func (p *paced) finish() error {
	close(p.next)
	return <-p.ended
}
