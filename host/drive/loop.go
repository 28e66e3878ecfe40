package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// errLeave ends the loop: the run goes no further in this process, and everything that can be said
// is recorded.
var errLeave = errors.New("leave the run")

// loop asks what is next and performs it. Facts gather until an effect is due; then they are made
// durable first.
func (d *driver) loop(ctx context.Context) error {
	for {
		err := d.step(ctx)
		var first *db.ConflictError
		if errors.As(err, &first) || errors.Is(err, db.ErrMessageWaits) {
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

// readAgain is for facts that ended a question, or the run, in the moment in which somebody
// answered the question, or had a message for the model. Nothing of them was written: the journal
// is read again, with that person's word, and what was to end the run still does.
func (d *driver) readAgain(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	stopping := d.state.Stopping
	s, _, err := d.p.unredacted(ctx, d.state.Created.Run) // what is lost was said at the claim
	if err == nil {
		s, err = d.refold(ctx, s)
	}
	if err != nil {
		return err
	}
	s.Acting = d.judge().acting
	if d.head, err = d.p.Store.Head(ctx, s.Created.Run); err != nil {
		return err
	}
	if d.p.Files != nil {
		d.p.Files.Dropped(s.Created)
	}
	d.state, d.dead, d.facts, d.kept, d.consume, d.refused, d.calls.pending, d.calls.done = s, nil, nil, nil, nil, nil, nil, nil
	d.inbox.heard = nil
	d.calls.settleAgain()
	if _, err := d.inbox.takeAnswer(ctx); err != nil {
		return err
	}
	if stopping != nil {
		d.stopFor(stopping.Why, stopping.By, stopping.Reason)
	}
	return d.inbox.readInbox(ctx)
}

func (d *driver) step(ctx context.Context) error {
	if d.flow != nil {
		return d.flow.Step(ctx, Hands{d})
	}
	d.inbox.add()
	action := recovery.Next(d.state)
	switch a := action.(type) {
	case recovery.Record:
		if endsRun(a) {
			fault.Hit(fault.BeforeTerminal)
			if something, err := d.lastWords(ctx); something || err != nil {
				return err
			}
		}
		if !d.recordNext(ctx, a.Facts) {
			return d.shutDown(ctx)
		}
		return nil
	case recovery.Done:
		if err := d.calls.flush(ctx); err != nil {
			return err
		}
		return errLeave
	case recovery.Claim:
		return errors.Join(d.calls.flush(ctx), errLeave)
	}
	if ctx.Err() != nil {
		return d.shutDown(ctx)
	}
	if d.calls.full == nil && startsSomething(action) && d.p.Store.DiskFull() {
		d.calls.full = errDiskFull
	}
	switch {
	case d.calls.full == nil:
	case len(d.calls.flying) == 0:
		return d.stopOnFullDisk(ctx)
	case startsSomething(action):
		return d.await(ctx)
	}
	return d.perform(ctx, action)
}

// lastWords takes what came right before the end of the run, and says whether that changes what
// comes next: a message is for the model, whose answer so far is kept.
func (d *driver) lastWords(ctx context.Context) (bool, error) {
	before := d.state.Seq
	if d.state.Created.Authored && !d.inbox.waits { // no model is there, and nobody decided on a call
		return false, nil
	}
	if err := d.inbox.readInbox(ctx); err != nil {
		return false, err
	}
	d.inbox.add()
	return d.state.Seq != before, nil
}

// recordNext records what follows from the journal, or first what instead says, and lets
// something else follow. The end of a turn is step 7. It records nothing, and says so, where ctx
// ends before it is known whether a call may be asked about.
func (d *driver) recordNext(ctx context.Context, facts []journal.Body) (recorded bool) {
	denied, err := d.policy.deniedFirst(ctx, facts)
	switch {
	case err != nil:
		return false
	case denied != nil:
		d.record(denied)
	default:
		d.recordAll(d.judge().instead(ctx, d.state, facts))
	}
	return true
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
	if d.calls.below.unknown {
		return d.calls.takeIn(ctx)
	}
	switch a := action.(type) {
	case recovery.Recover:
		return d.calls.recover(ctx, a.Calls)
	case recovery.Start:
		return d.calls.start(ctx, a.Calls)
	case recovery.Await:
		return d.await(ctx)
	case recovery.StopCalls:
		return d.calls.stopCalls(ctx, a)
	case recovery.AskPerson:
		return d.questions.ask(ctx, a.Request)
	case recovery.CallModel:
		return d.turn.callModel(ctx, a)
	case recovery.Compact:
		return d.turn.compact(ctx, a)
	}
	return fmt.Errorf("drive run %s: action %T is not known", d.state.Created.Run, action)
}

func endsRun(r recovery.Record) bool {
	switch r.Facts[len(r.Facts)-1].(type) {
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		return true
	}
	return false
}

// await makes durable what is recorded and waits for whatever comes first: a result, a word of a
// person, the end of the time limit, the end of the context.
func (d *driver) await(ctx context.Context) error {
	if d.elicits.openAsked(len(d.calls.flying) == 1) || d.calls.gathers(ctx) {
		return nil
	}
	if err := d.calls.flush(ctx); err != nil || d.calls.full != nil && len(d.calls.flying) == 0 {
		return err // nothing that was to begin has begun
	}
	if parks, left := d.calls.below.stands(len(d.calls.flying)); parks {
		return d.calls.park(ctx)
	} else if left != nil {
		return d.leave(ctx, left.Cause, left.Detail)
	}
	if left, limited := d.state.TimeLeft(d.steady()); limited && left <= 0 { // before anything that came meanwhile
		d.timeIsUp()
		return nil
	}
	limit, stop := d.deadline()
	defer stop()
	select {
	case a := <-d.elicits.asks:
		d.elicits.received(a)
		return nil
	case e := <-d.calls.results:
		d.calls.settle(e)
		d.calls.drain()
		return nil
	case <-d.inbox.waker.C():
		return d.inbox.readInbox(ctx)
	case <-limit:
		d.timeIsUp()
		return nil
	case <-ctx.Done():
		return nil // the loop looks at the context before the next effect
	}
}

// shutDown leaves the run on a signal.
func (d *driver) shutDown(ctx context.Context) error {
	d.elicits.withdraw("the host was asked to stop")
	return d.leave(ctx, journal.CauseShutdown, cause(ctx))
}

// leave leaves the run resumable. Calls of a runner go on; what acts inside this process is waited
// for.
func (d *driver) leave(ctx context.Context, why journal.Cause, detail string) error {
	if err := d.calls.flush(ctx); err != nil {
		return err
	}
	d.calls.collect(5 * time.Second)
	if d.state.Status == recovery.StatusWaiting {
		return errors.Join(d.calls.flush(ctx), errLeave)
	}
	// A result that came in may have finished the run: success beats a late shutdown.
	for {
		r, ok := recovery.Next(d.state).(recovery.Record)
		if !ok || d.flow != nil || !d.recordNext(ctx, r.Facts) {
			break
		}
	}
	if d.state.Status.Terminal() || d.state.Status == recovery.StatusWaiting {
		return errors.Join(d.calls.flush(ctx), errLeave)
	}
	return d.calls.interrupt(ctx, why, detail)
}

func cause(ctx context.Context) string {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c.Error()
	}
	return ErrShutdown.Error()
}
