package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/fault"
)

// errLeave ends the loop: the run goes no further in this process, and everything that can be said is recorded.
var errLeave = errors.New("leave the run")

// loop asks what is next and performs it. Facts gather until an effect is due; then they are made durable first.
func (d *driver) loop(ctx context.Context) error {
	for {
		err := d.step(ctx, recovery.Next(d.state))
		var first *db.ConflictError
		if errors.As(err, &first) {
			err = d.readAgain(ctx)
		}
		switch {
		case errors.Is(err, errLeave):
			return d.dead // also when the last word could not be recorded
		case err != nil:
			return err
		}
	}
}

// readAgain is for facts that ended a question in the moment in which somebody else did. Nothing of them was written: the
// journal is read again, with that person's word, and what was to end the run still does.
func (d *driver) readAgain(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	stopping := d.state.Stopping
	s, _, err := d.p.trueState(ctx, d.state.Created.Run) // what is lost was said at the claim
	if err != nil {
		return err
	}
	s.Acting = d.judge().acting
	if d.head, err = d.p.Store.Head(ctx, s.Created.Run); err != nil {
		return err
	}
	d.state, d.dead, d.facts, d.consume, d.refused, d.launch, d.done = s, nil, nil, nil, nil, nil, nil
	d.settleAgain()
	if _, err := d.takeAnswer(ctx); err != nil {
		return err
	}
	if stopping != nil {
		d.stopFor(stopping.Why, stopping.By, stopping.Reason)
	}
	return d.readInbox(ctx)
}

func (d *driver) step(ctx context.Context, action recovery.Action) error {
	switch a := action.(type) {
	case recovery.Record:
		if endsRun(a) {
			fault.Hit(fault.BeforeTerminal)
		}
		d.recordNext(ctx, a.Facts)
		return nil
	case recovery.Done:
		if err := d.flush(ctx); err != nil {
			return err
		}
		return errLeave
	case recovery.Claim:
		return errors.Join(d.flush(ctx), errLeave)
	}
	if ctx.Err() != nil {
		return d.shutDown(ctx)
	}
	if d.full == nil && startsSomething(action) && d.p.Store.DiskFull() {
		d.full = errDiskFull
	}
	if d.full != nil && (startsSomething(action) || len(d.flying) == 0) {
		return d.noRoom(ctx)
	}
	return d.perform(ctx, action)
}

// recordNext records what follows from the journal, or first what was seen just now and lets something else follow.
func (d *driver) recordNext(ctx context.Context, facts []recovery.Body) {
	if gone := d.judge().gone(ctx, d.state, facts); gone != nil {
		facts = []recovery.Body{gone}
	}
	d.recordAll(facts)
}

// startsSomething tells what a full disk forbids from what is under way and must be brought home.
func startsSomething(a recovery.Action) bool {
	switch a.(type) {
	case recovery.Start, recovery.CallModel, recovery.Compact:
		return true
	}
	return false
}

func (d *driver) perform(ctx context.Context, action recovery.Action) error {
	switch a := action.(type) {
	case recovery.Recover:
		return d.recover(ctx, a.Calls)
	case recovery.Start:
		return d.start(ctx, a.Calls)
	case recovery.Await:
		return d.await(ctx)
	case recovery.StopCalls:
		return d.stopCalls(ctx, a)
	case recovery.AskPerson:
		return d.ask(ctx, a.Request)
	case recovery.CallModel:
		return d.callModel(ctx, a)
	case recovery.Compact:
		return d.compact(ctx, a)
	}
	return fmt.Errorf("drive run %s: action %T is not known", d.state.Created.Run, action)
}

func endsRun(r recovery.Record) bool {
	switch r.Facts[len(r.Facts)-1].(type) {
	case recovery.RunCompleted, recovery.RunFailed, recovery.RunCancelled:
		return true
	}
	return false
}

// await makes durable what is recorded and waits for whatever comes first: a result, a word of a person, the end of the
// time limit, the end of the context.
func (d *driver) await(ctx context.Context) error {
	if d.openAsked() || d.gathers(ctx) {
		return nil
	}
	if err := d.flush(ctx); err != nil {
		return err
	}
	limit, stop := d.deadline()
	defer stop()
	select {
	case a := <-d.asks:
		d.heard(a)
		return nil
	case e := <-d.results:
		d.settle(e)
		d.drain()
		return nil
	case <-d.waker.C():
		return d.readInbox(ctx)
	case <-limit:
		d.timeIsUp()
		return nil
	case <-ctx.Done():
		return nil // the loop looks at the context before the next effect
	}
}

// gatherFor is how long results of reads wait for those of their neighbours. Nothing is in doubt meanwhile: a read whose
// result was not recorded is read again.
const gatherFor = 20 * time.Millisecond

// gathers waits for further results where there is nothing to record but results of reads, so that reads that end together
// share a commit. It says whether one came.
func (d *driver) gathers(ctx context.Context) bool {
	if len(d.facts) == 0 || len(d.launch) > 0 || len(d.consume) > 0 {
		return false
	}
	for _, f := range d.facts {
		s, ok := f.Body.(recovery.CallSettled)
		if !ok {
			return false
		}
		if c, err := d.state.Call(s.Place); err != nil || c.Effect != recovery.EffectRead {
			return false
		}
	}
	wait := time.NewTimer(min(gatherFor, gatherFor-d.steady().Sub(d.facts[0].Time)))
	defer wait.Stop()
	select {
	case e := <-d.results:
		d.settle(e)
		d.drain()
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

// drain takes what has come meanwhile, so that results that end together share a commit.
func (d *driver) drain() {
	for {
		select {
		case e := <-d.results:
			d.settle(e)
		default:
			return
		}
	}
}

// deadline fires when the run's time is used up; nil channel without a limit.
func (d *driver) deadline() (<-chan time.Time, func()) {
	limit := d.state.Limits.Timeout
	if limit == 0 || d.state.Stopping != nil {
		return nil, func() {}
	}
	t := time.NewTimer(limit - d.state.Spent(d.steady()))
	return t.C, func() { t.Stop() }
}

// cancelled ends the run on a person's request. An answer that was given before is taken first: its row is closed already.
func (d *driver) cancelled(ctx context.Context, by string) error {
	_, err := d.takeAnswer(ctx)
	if err == nil {
		d.stopFor(recovery.StopCancelled, by, "cancelled by "+by)
	}
	return err
}

func (d *driver) stopFor(why recovery.Stop, by, reason string) {
	if d.state.Stopping == nil {
		d.record(recovery.RunStopping{Why: why, By: by, Reason: reason})
	}
}

// shutDown leaves the run on a signal.
func (d *driver) shutDown(ctx context.Context) error {
	d.withdraw("the host was asked to stop")
	return d.leave(ctx, recovery.CauseShutdown, cause(ctx))
}

// leave leaves the run resumable. Calls of a runner go on; what acts inside this process is waited for.
func (d *driver) leave(ctx context.Context, why recovery.Cause, detail string) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	d.collect(5 * time.Second)
	if d.state.Status == recovery.StatusWaiting {
		return errors.Join(d.flush(ctx), errLeave)
	}
	// A result that came in may have finished the run: success beats a late shutdown.
	for {
		r, ok := recovery.Next(d.state).(recovery.Record)
		if !ok {
			break
		}
		d.recordNext(ctx, r.Facts)
	}
	if d.state.Status.Terminal() || d.state.Status == recovery.StatusWaiting {
		return errors.Join(d.flush(ctx), errLeave)
	}
	return d.interrupt(ctx, why, detail)
}

func cause(ctx context.Context) string {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c.Error()
	}
	return ErrShutdown.Error()
}

// collect takes the results of calls that act inside this process. Those of a runner come back at once, without a result.
func (d *driver) collect(wait time.Duration) {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for len(d.flying) > 0 {
		select {
		case e := <-d.results:
			d.settle(e)
		case <-limit.C:
			return
		}
	}
}

func (d *driver) interrupt(ctx context.Context, c recovery.Cause, detail string) error {
	d.record(recovery.RunInterrupted{Cause: c, Detail: detail})
	return errors.Join(d.flush(ctx), errLeave)
}
