package drive

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"agent/db"
	"agent/host/drive/disknote"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools/ofd"
)

// driver carries one claimed run. Its goroutine alone folds and builds batches; calls and the
// reader of the model's stream run in goroutines of their own and come back over channels. Its
// parts stand on each other in this order.
type driver struct {
	*recorder            // the journal as its owner writes it
	policy    *policy    // what may run
	inbox     *inbox     // what other processes leave for the owner
	elicits   *elicits   // what calls ask while they are under way
	calls     *caller    // what acts
	questions *questions // what a person is asked
	turn      *modelTurn // what the model is asked

	lock *ofd.File
	live *stream.LiveCopy
}

// newDriver drives with the environment that every run has, until use gives it another.
func (p *Process) newDriver(s *recovery.State, head db.Head, lock *ofd.File) (*driver, error) {
	p.Guard()
	w, err := p.Subscribe()
	if err != nil {
		return nil, err
	}
	rec := &recorder{p: p, env: p.Env, state: s, head: head, before: head.Epoch, seen: momentAt(p.Now().Round(0))}
	pol := &policy{recorder: rec}
	in := &inbox{recorder: rec, policy: pol, waker: w}
	el := &elicits{recorder: rec, asks: make(chan *asking)}
	cl := &caller{
		recorder: rec, policy: pol, inbox: in, elicits: el,
		results: make(chan ended, 64), flying: map[int]context.CancelFunc{}, handles: map[int]prepared{},
	}
	rec.bind, rec.inFlight = pol.binding, cl.underWay
	return &driver{
		recorder: rec, policy: pol, inbox: in, elicits: el, calls: cl,
		questions: &questions{recorder: rec, policy: pol, inbox: in, elicits: el, calls: cl},
		turn:      &modelTurn{recorder: rec, policy: pol, inbox: in, calls: cl}, lock: lock,
	}, nil
}

// use gives the driver its run's environment, which it closes at its end.
func (d *driver) use(e Env) {
	d.env.Release()
	d.env = e
	d.state.Acting = d.judge().acting
}

// drive claims the run and carries it on until it ends, waits for a person, or the context ends.
// Whatever happens, what can be recorded is, and nothing that works for the run is left behind in
// this process. A run that could not be claimed has no outcome.
func (d *driver) drive(ctx context.Context, claim func(context.Context) error) (out Outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = d.guarded(ctx, func() error {
		if err := claim(ctx); errors.Is(err, errLeave) {
			return d.dead
		} else if err != nil {
			return err
		}
		if heard := d.p.Claimed; heard != nil && d.state.Created.Parent == "" {
			heard(d.head.Run, d.head.Thread)
		}
		d.openLive()
		return d.loop(ctx)
	})
	if errors.As(err, new(*db.GoneError)) && d.dead == nil {
		err = d.recordLost(err)
		d.dead = err
	}
	if err != nil {
		err = errors.Join(err, Caught(d.head.Run, func() error { return d.failing(ctx, err) }))
	}
	cancel()
	closing := Caught(d.head.Run, func() error {
		defer d.close()
		out = d.outcome()
		return nil
	})
	return out, errors.Join(err, closing)
}

// failing records what kept this process from driving the run on: in its journal, or, where a
// commit failed, beside its lock for who finds the run without an owner.
func (d *driver) failing(ctx context.Context, err error) error {
	if d.dead == nil && d.owns() && d.state.Status == recovery.StatusRunning && !errors.As(err, new(*PanicError)) {
		d.elicits.withdraw("the host could not go on")
		if err := d.leave(ctx, journal.CauseFailing, err.Error()); !errors.Is(err, errLeave) {
			return err
		}
	}
	if d.dead != nil && !errors.Is(d.dead, db.ErrLostRace) {
		_ = disknote.Add(d.p.Home, d.dead) // a disk that takes no note either; its error is the one that is returned
		return d.p.Locks().Describe(d.lock, d.p.Store.Redact(d.dead.Error()))
	}
	return nil
}

// outcome is what the journal says. After a commit that failed nobody knows what it says, so
// nothing is claimed.
func (d *driver) outcome() Outcome {
	switch {
	case !d.owns():
		return Outcome{}
	case d.dead == nil:
		return d.judge().outcome(d.state)
	}
	if errors.As(d.dead, new(*RecordLostError)) {
		return Outcome{} // no journal that anybody can read says anything
	}
	c := d.state.Created
	out := Outcome{Run: c.Run, Thread: c.Thread, Status: recovery.StatusInterrupted, Cause: journal.CauseFailing, Detail: d.p.Store.Redact(d.dead.Error())}
	if errors.Is(d.dead, db.ErrLostRace) {
		out.Cause = journal.CauseTakeover
	}
	return out
}

// close ends what works for the run in this process. Its holder frees its lock.
func (d *driver) close() {
	defer d.inbox.waker.Close()
	d.calls.awaitBelow()
	if d.flow != nil {
		d.flow.Close()
	}
	d.live.Close()
	d.dropLive()
	d.calls.tidy()
	if d.p.Files != nil && d.owns() {
		d.p.Files.Left(d.state.Created)
	}
	d.env.Release()
}

// openLive begins when a run is driven: a call that goes on from an earlier process prints before
// the model is asked.
func (d *driver) openLive() {
	l, err := stream.CopyLive(filepath.Join(d.p.Home, "live"), d.state.Created.Run, d.p.Hub)
	if err != nil {
		d.p.Warn(d.state.Created.Run, "live text for other processes: %v", err)
		return
	}
	d.live = l
}

// dropLive removes what an owner left of a run that has ended: a part of an answer that never
// became a fact.
func (d *driver) dropLive() {
	if d.dead == nil && d.state.Status.Terminal() {
		_ = os.Remove(filepath.Join(d.p.Home, "live", d.state.Created.Run)) // mostly it is not there; doctor finds one that stays
	}
}
