package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/ofd"
)

// PanicError is a panic of this program while it held the lock of a run. A run that it had claimed
// ended as failed; another one stayed as it was.
type PanicError struct {
	Run   string
	Value any
	Stack []byte // of the goroutine that panicked first
}

func (e *PanicError) Error() string { return fmt.Sprintf("drive run %s: panic: %v", e.Run, e.Value) }

// newPanic turns what recover returned into an error. Call it in the deferred function that
// recovered. A panic that was passed on from another goroutine stays what it was.
func newPanic(run string, p any) *PanicError {
	if first, ok := p.(*PanicError); ok {
		return first
	}
	return &PanicError{Run: run, Value: p, Stack: debug.Stack()}
}

// Caught has do work for the run and returns its panic as a *PanicError.
func Caught(run string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanic(run, p)
		}
	}()
	return do()
}

// Holding takes the run's lock, has do work under it, and lets it go, also after a panic. Step 1.
func Holding(p *Process, run string, do func(*ofd.File) error) error {
	lock, err := p.Locks().Take(run)
	if err != nil {
		return err
	}
	err = Caught(run, func() error {
		fault.Hit(fault.AfterLock)
		return do(lock)
	})
	last := Caught(run, func() error {
		fault.Hit(fault.BeforeUnlocking)
		return nil
	})
	return errors.Join(err, last, lock.Close())
}

// panicTries bounds how often the end of a run is tried that meets another panic each time.
const panicTries = 2

// guarded has do work on the run. A panic ends the run as failed, with every call settled. A run
// that cannot even be ended is left as interrupted.
func (d *driver) guarded(ctx context.Context, do func() error) error {
	err := Caught(d.head.Run, do)
	var first *PanicError
	if !errors.As(err, &first) {
		return err
	}
	for range panicTries {
		again := Caught(d.head.Run, func() error { return d.afterPanic(ctx, first) })
		if !errors.As(again, new(*PanicError)) {
			return errors.Join(err, again)
		}
	}
	return errors.Join(err, Caught(d.head.Run, func() error { return d.abandon(ctx, first) }))
}

// afterPanic settles every call and ends the run as failed, within a bounded time of its own. What
// the journal does not say yet is dropped, but for the results that came: those calls are done.
func (d *driver) afterPanic(ctx context.Context, p *PanicError) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	never, ready := d.calls.dropPending()
	if mine, err := d.reload(ctx); err != nil || !mine {
		return err
	}
	if d.state.Status.Terminal() || d.state.Status == recovery.StatusInterrupted {
		return nil
	}
	d.calls.settleAgain()
	for _, at := range never {
		if c, err := d.state.Call(at); err == nil && c.Phase == journal.PhaseStarted && c.Attempt == at.Attempt {
			e := recovery.Evidence{ToolKnown: true, Restored: true}
			e.Process = recovery.ProcessEvidence{State: recovery.ProcessNever, Why: "the host panicked before it began"}
			d.recordAll(recovery.Judge(c, nil, e).Facts(c))
		}
	}
	if d.state.Stopping == nil {
		d.record(journal.RunStopping{Why: journal.StopPanic, Reason: fmt.Sprintf("the host panicked: %v", p.Value)})
	}
	err := d.loop(ctx)
	for _, p := range ready {
		if a, ok := p.tool.(tools.Process); ok && d.dead == nil {
			err = errors.Join(err, a.Discard(p.call)) // it never began, and it is settled or was never recorded
		}
	}
	d.calls.forgetLeftovers()
	return err
}

// reload reads the run again as the journal has it. It says whether the claim of this process is in
// it.
func (d *driver) reload(ctx context.Context) (bool, error) {
	if d.dead != nil {
		return false, nil // nothing may be written any more
	}
	head, err := d.p.Store.Head(ctx, d.head.Run)
	if errors.As(err, new(*db.UnknownIDError)) {
		return false, nil // it was never created
	}
	if err != nil || head.Epoch <= d.before {
		return false, err
	}
	s, _, err := d.p.unredacted(ctx, head.Run) // the secrets that cannot be restored were named at the claim
	if err != nil {
		return false, err
	}
	if s, err = d.refold(ctx, s); err != nil {
		return false, err
	}
	d.state, d.head = s, head
	d.facts, d.consume, d.refused, d.calls.pending, d.calls.done = nil, nil, nil, nil, nil
	return true, nil
}

// abandon leaves a run as interrupted that cannot be ended without another panic.
func (d *driver) abandon(ctx context.Context, p *PanicError) error {
	ctx = context.WithoutCancel(ctx)
	if d.dead != nil {
		return nil // nothing may be written any more
	}
	head, err := d.p.Store.Head(ctx, d.head.Run)
	if err != nil || head.Epoch <= d.before {
		return err
	}
	_, err = d.p.Store.MarkInterrupted(ctx, head, journal.CauseCrash, fmt.Sprintf("the host panicked: %v; its end met a panic too", p.Value), d.p.Now())
	if err == nil {
		_, err = d.reload(ctx)
	}
	return err
}
