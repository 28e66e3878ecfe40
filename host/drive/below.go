package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
)

// below is what a driver knows of runs that carry out calls of its own run in this process. A run
// lets its lock go only after all of them did: who holds the lock of the run at the top is the only
// one that may drive the runs below it.
type below struct {
	going   sync.WaitGroup
	waits   map[int]bool                  // calls that wait for people alone, by index in the current turn
	left    map[int]*tools.SuspendedError // calls whose run went no further here, likewise
	unknown bool                          // one that ended left calls unknown of which the guard has not heard
}

func isBelow(c *recovery.Call) bool { return c.Child != "" }

func (b *below) begin(c tools.Call) {
	if c.Child != "" {
		b.going.Add(1)
	}
}

func (b *below) end(c tools.Call) {
	if c.Child != "" {
		b.going.Done()
	}
}

func (b *below) waiting(index int, waits bool) {
	if b.waits == nil {
		b.waits = map[int]bool{}
	}
	b.waits[index] = waits
}

// suspended takes note of a call that came back without a result and can go on later.
func (b *below) suspended(e ended) bool {
	delete(b.waits, e.place.Index)
	var left *tools.SuspendedError
	if !errors.As(e.err, &left) {
		return false
	}
	if b.left == nil {
		b.left = map[int]*tools.SuspendedError{}
	}
	b.left[e.place.Index] = left
	return true
}

// stands says what is to be done while so many calls are under way: to park the run, since all of
// them wait for people, or to leave it for the reason of one whose run went no further, once
// nothing else acts.
func (b *below) stands(flying int) (parks bool, left *tools.SuspendedError) {
	waits := 0
	for _, w := range b.waits {
		if w {
			waits++
		}
	}
	if waits < flying {
		return false, nil
	}
	for _, l := range b.left {
		if !l.Waits {
			return false, l
		}
	}
	return waits > 0, nil
}

// waits is tools.Call.Waits. A process that ends takes no notice of it any more.
func (cl *caller) waits(ctx context.Context, p journal.Place) func(bool) {
	return func(waits bool) {
		select {
		case cl.results <- ended{place: p, waits: &waits}:
		case <-ctx.Done():
		}
	}
}

// park leaves the run to people: all that is under way waits for them. Runs below are let go first,
// and where one of them went on in that moment, so does this one.
func (cl *caller) park(ctx context.Context) error {
	for _, cancel := range cl.flying {
		cancel()
	}
	for len(cl.flying) > 0 {
		cl.settle(<-cl.results)
	}
	calls := cl.state.InFlight()
	children := make([]string, 0, len(calls))
	for _, c := range calls {
		if l := cl.below.left[c.Index]; l == nil || !l.Waits || ctx.Err() != nil {
			cl.attachAgain(ctx)
			return nil
		}
		children = append(children, c.Child)
	}
	if len(children) == 0 || cl.state.Stopping != nil {
		return nil
	}
	cl.record(journal.RunParked{Children: children})
	if err := cl.flush(ctx); err != nil {
		return err
	}
	fault.Hit(fault.Parked)
	return errLeave
}

// attachAgain picks up the runs of calls that are under way by the journal and not in this process.
func (cl *caller) attachAgain(ctx context.Context) {
	for _, c := range cl.state.InFlight() {
		if c.Child == "" || cl.flying[c.Index] != nil {
			continue
		}
		if a, ok := cl.tool(cl.toolCall(c)).(tools.Process); ok {
			delete(cl.below.left, c.Index)
			cl.attach(ctx, c, a)
		}
	}
}

// takeIn has the guard know what runs below left unknown.
func (cl *caller) takeIn(ctx context.Context) error {
	cl.below.unknown = false
	if err := cl.flush(ctx); err != nil {
		return err
	}
	unknown, err := cl.p.Doubts(context.WithoutCancel(ctx), cl.state.Created)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(append(unknown, journal.Unknown{Done: true}), func(u journal.Unknown) bool { return u.Done })
	if n > 0 { // what is done stands behind
		text := fmt.Sprintf("the outcome of %d calls of other runs is unknown: none like them runs before you decide", n)
		if n == 1 {
			text = fmt.Sprintf("the outcome of call %s of run %s is unknown: none like it runs before you decide", unknown[0].ID, unknown[0].Run)
		}
		cl.record(journal.RunNoted{Text: text, Unknown: unknown})
	}
	return nil
}

// awaitBelow waits until no run below is driven in this process any more. Their contexts have
// ended.
func (cl *caller) awaitBelow() {
	done := make(chan struct{})
	go func() {
		cl.below.going.Wait()
		close(done)
	}()
	for {
		select {
		case <-cl.results: // its run is on record, and the next owner finds it there
		case <-done:
			return
		}
	}
}
