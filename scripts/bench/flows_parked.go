//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// parkedBranches counts the goroutines of branches that wait for people: where all do, and where
// one is at work.
func (b *bench) parkedBranches(ctx context.Context) (rows []row, err error) {
	p, err := b.openHost(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	before := steady()
	if err := p.list(atOnce); err != nil {
		return nil, err
	}
	h, err := p.host(looping{turns: 1, calls: instantCalls(0)})
	if err != nil {
		return nil, err
	}
	status, err := p.startFlow(ctx, h, eachFile, journal.ModeAsk)
	if err == nil && status != recovery.StatusWaiting {
		err = fmt.Errorf("the flow is %s, and all its branches wait", status)
	}
	if err != nil {
		return nil, err
	}
	parked := steady() - before
	few, err := p.besideOne(ctx, 2)
	if err != nil {
		return nil, err
	}
	many, err := p.besideOne(ctx, atOnce)
	return []row{
		plain(fmt.Sprintf("goroutines left by a flow whose %d branches wait for people", atOnce), float64(parked), ""),
		plain("goroutines of a branch that waits for people while another one works", float64(many-few)/(atOnce-2), ""),
	}, err
}

// besideOne counts the goroutines while one branch works and all others wait for people.
func (p *inProcess) besideOne(ctx context.Context, branches int) (goroutines int, err error) {
	if err := p.list(branches); err != nil {
		return 0, err
	}
	works, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	m := looping{turns: 1, calls: instantCalls(0)}
	m.asked = func(int) {
		if first.CompareAndSwap(false, true) {
			close(works)
			<-goOn
		}
	}
	h, err := p.host(m)
	if err != nil {
		return 0, err
	}
	waiting := func() (n int, err error) {
		rows, err := p.store.Runs(ctx, db.Filter{All: true, Children: true})
		for _, r := range rows {
			if r.Root != "" && r.Status == recovery.StatusWaiting {
				n++
			}
		}
		return n, err
	}
	asked, err := waiting()
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.startFlow(ctx, h, eachFile, journal.ModeAsk)
		ended <- err
	}()
	select {
	case <-works:
	case err := <-ended:
		return 0, errors.Join(errors.New("the flow ended before its branches worked"), err)
	}
	for n := asked; n < asked+branches-1 && err == nil; n, err = waiting() {
		time.Sleep(10 * time.Millisecond)
	}
	goroutines = steady()
	close(goOn)
	return goroutines, errors.Join(err, <-ended)
}

// steady is the number of goroutines once it stays the same for a while.
func steady() int {
	var last []int
	for len(last) < 20 || slices.Min(last[len(last)-20:]) != slices.Max(last[len(last)-20:]) {
		last = append(last, runtime.NumGoroutine())
		time.Sleep(10 * time.Millisecond)
	}
	return last[len(last)-1]
}
