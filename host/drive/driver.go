package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/host/model"
	"agent/host/permit"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools"
	"agent/tools/ofd"
)

// driver carries one claimed run. One goroutine folds and builds its batches; calls run in goroutines of their own and
// come back over a channel.
//
// Over budget: at most 116 methods: asking, calling and recording are to be types of their own
// Over budget: at most 28 fields: likewise
type driver struct {
	p      *Process
	env    Env
	state  *recovery.State
	head   db.Head
	before int64 // the epoch before the claim of this process
	lock   *ofd.File
	model  model.Model
	live   *liveText
	fresh  bool // the thread is new with this run

	facts   []recovery.Event        // folded, not yet durable
	consume []int64                 // inbox rows that the facts take
	refused []int64                 // those among them that no fact follows from: they go without one where there is none
	passed  []recovery.CallResolved // decisions about calls of other runs that were left for this one
	launch  []takeOff               // effects that may begin once the facts are durable
	done    []tools.Call            // calls of a runner whose files go once the facts are durable

	asks    chan *asking // from calls that are under way
	asked   *asking      // the one that was heard
	results chan ended
	came    []ended                    // results that were recorded and are not durable yet
	flying  map[int]context.CancelFunc // by index in the current turn
	handles map[int]prepared           // by index in the current turn
	waker   *wake
	policy  permit.Policy // what holds in the run's folder, as it was when this process took the run
	stands  bool          // an answer added rules to it since: it is read again
	dead    error         // a commit failed or the run was lost: nothing may be written any more
	lost    []db.Lost     // secrets of the run that cannot be given back
	full    error         // the state folder had no room for a call's files: nothing new may be started
	seen    moment        // of the last fact, or since when this process drives the run
}

// ended is what came back from a call.
type ended struct {
	place  recovery.Place
	result recovery.Result
	err    error
	panic  any         // of the tool
	host   *PanicError // of the host beside it
	how    recovery.How
	took   time.Duration
}

// newDriver drives with the environment that every run has, until use gives it another.
func (p *Process) newDriver(s *recovery.State, head db.Head, lock *ofd.File) (*driver, error) {
	p.Guard()
	w, err := p.wakes.join(p.Store.Files()...)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %v", p.Home, err)
	}
	return &driver{
		p: p, env: p.Env, state: s, head: head, before: head.Epoch, lock: lock, waker: w, seen: moment{p.Now().Round(0), time.Now()},
		asks: make(chan *asking), results: make(chan ended, 64), flying: map[int]context.CancelFunc{}, handles: map[int]prepared{},
	}, nil
}

// use gives the driver its run's environment, which it closes at its end.
func (d *driver) use(e Env) {
	d.env.Release()
	d.env = e
	d.state.Acting = d.judge().acting
}

// record folds facts and keeps them for the next commit. A fact that cannot follow is a fault of this program.
func (d *driver) record(bodies ...recovery.Body) { d.recordAll(bodies) }

func (d *driver) recordAll(bodies []recovery.Body) {
	for _, b := range bodies {
		if n, ok := d.clockSet(); ok {
			d.fold(n)
		}
		d.fold(b)
	}
}

func (d *driver) fold(b recovery.Body) {
	e := recovery.Event{Seq: d.state.Seq + 1, Turn: turnOf(d.state, b), Time: d.now(), Body: d.stamped(b)}
	if err := d.state.Apply(e); err != nil {
		panic(err)
	}
	d.facts = append(d.facts, e)
	d.seen = moment{e.Time, time.Now()}
}

// now is the writer's clock in the journal's precision.
func (d *driver) now() time.Time { return d.p.Now().UTC().Truncate(time.Microsecond) }

// turnOf is the turn that a fact belongs to: a request and its answer begin the next.
func turnOf(s *recovery.State, b recovery.Body) int {
	switch b.(type) {
	case recovery.ModelRequested, recovery.ModelAnswered, recovery.ModelFailed, recovery.MessageAdded:
		return len(s.Turns) + 1
	}
	return len(s.Turns)
}

// stamped gives a question its id, its time and what a yes to it is bound to.
func (d *driver) stamped(b recovery.Body) recovery.Body {
	o, ok := b.(recovery.RequestOpened)
	if !ok {
		return b
	}
	o.Request.ID, o.Request.Opened = NewID("p"), d.now()
	if d.state.Created.Expire > 0 {
		t := o.Request.Opened.Add(d.state.Created.Expire)
		o.Request.Expires = &t
	}
	if o.Request.Call != nil {
		if c, err := d.state.Call(*o.Request.Call); err == nil {
			o.Request.Binding = d.binding(c)
			o.Request.CallID, o.Request.Tool = c.ID, c.Tool
			if k := o.Request.Kind; k == recovery.RequestPermission || k == recovery.RequestTwin {
				o.Request.Args = c.Args
			}
		}
	}
	return o
}

// flush makes the facts durable, shows them, and only then begins the effects that waited for them.
func (d *driver) flush(ctx context.Context) error {
	if d.dead != nil {
		return d.dead
	}
	if len(d.facts) > 0 {
		err := d.settleElsewhere(ctx)
		if err == nil {
			err = d.commit(ctx)
		}
		if err != nil {
			d.dead = d.recordLost(err)
			return d.dead
		}
		for i := range d.facts {
			d.p.Hub.Publish(stream.Event{Run: d.state.Created.Run, Fact: &d.facts[i]})
		}
		d.p.sayKept(d.state.Created.Run)
		reached(d.facts)
		d.deliver(ctx, d.facts)
		d.facts, d.consume, d.refused, d.came = nil, nil, nil, nil
	} else if err := d.dropRefused(ctx); err != nil {
		d.dead = d.recordLost(err)
		return d.dead
	} else if err := d.present(); err != nil {
		return err
	}
	asksNext := d.state.Status == recovery.StatusRunning && len(d.flying) == 0
	for len(d.launch) > 0 {
		l := d.launch[0]
		d.launch = d.launch[1:]
		if l.fresh && (d.full != nil || d.p.Store.DiskFull()) {
			d.ground(l.place.Index)
			continue
		}
		l.begin()
	}
	if !asksNext {
		d.forget() // beside what has begun, and not before it
	}
	return nil
}

// commit waits out a database that others keep busy, however long, as long as the run is wanted: nothing was written then.
func (d *driver) commit(ctx context.Context) error {
	for {
		err := d.write(context.WithoutCancel(ctx))
		if !errors.Is(err, db.ErrBusy) || ctx.Err() != nil {
			return err
		}
		d.p.Warn(d.state.Created.Run, "other processes keep the database locked: waiting for it")
	}
}

func (d *driver) write(ctx context.Context) error {
	c := d.state.Created
	if d.head.No == 0 {
		head, err := d.p.journal().Create(ctx, db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: d.fresh}, d.facts)
		if err == nil {
			d.head = head
		}
		return err
	}
	head, err := d.p.journal().Append(ctx, d.head, d.facts, db.AppendOptions{Consume: d.consume, State: d.state})
	if errors.Is(err, db.ErrLostRace) {
		return fmt.Errorf("record in run %s: another process took it over: %w", c.Run, err)
	}
	if err == nil {
		d.head = head
	}
	return err
}

// reached passes the fault points that lie behind a commit, before its facts reach anybody.
func reached(facts []recovery.Event) {
	for _, f := range facts {
		switch f.Body.(type) {
		case recovery.CallStarted:
			fault.Hit(fault.AfterStarted)
		case recovery.CallSettled:
			fault.Hit(fault.AfterSettled)
		case recovery.TurnSettled:
			fault.Hit(fault.AfterTurn)
		case recovery.ModelFailed:
			fault.Hit(fault.AfterFailed)
		case recovery.ContextCompacted:
			fault.Hit(fault.AfterSummary)
		case recovery.CallJudged:
			fault.Hit(fault.AfterVerdict)
		case recovery.RequestOpened:
			fault.Hit(fault.AtQuestion)
		case recovery.RequestAnswered:
			fault.Hit(fault.AfterAnswer)
		}
	}
}

// deliver passes durable facts on to who waits for them: a call that asked, and the run that a decision is about.
func (d *driver) deliver(ctx context.Context, facts []recovery.Event) {
	for _, f := range facts {
		switch b := f.Body.(type) {
		case recovery.CallResolved:
			if b.Run != "" && !d.cameFromThere(b) {
				d.settledElsewhere(ctx, b)
			}
		case recovery.CallSettled:
			d.dropOutput(b)
		case recovery.RequestAnswered:
			d.answeredAsked(b.ID, b.Answer, nil)
		case recovery.RequestClosed:
			d.answeredAsked(b.ID, nil, errGaveUp)
		}
	}
}

// dropOutput lets go of a call's whole output, which the store keeps now.
func (d *driver) dropOutput(b recovery.CallSettled) {
	if c, err := d.state.Call(b.Place); err == nil && c.Result != nil {
		c.Result.Full, c.Result.Blob = nil, b.Result.Blob
	}
}

func (d *driver) tool(c tools.Call) tools.Tool {
	call, err := d.state.Call(c.Place)
	if err != nil {
		return nil
	}
	t, _ := d.env.Tools.Get(call.Tool) // an unknown tool is nil, which every caller looks at
	return t
}

// toolCall is the call as its tool sees it.
func (d *driver) toolCall(c *recovery.Call) tools.Call {
	run, place := d.state.Created.Run, c.Place
	tc := callFor(d.state, c)
	tc.Handle, tc.Ask = d.handles[c.Index].handle, d.asker(c.Place)
	tc.Show = func(p []byte) { d.p.Hub.Publish(stream.Event{Run: run, Call: &place, Output: p}) }
	return tc
}

// drive claims the run and carries it on until it ends, waits for a person, or the context ends. Whatever happens, what can be
// recorded is, and nothing that works for the run is left behind in this process. A run that could not be claimed has no outcome.
func (d *driver) drive(ctx context.Context, claim func(context.Context) error) (out Outcome, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = d.guarded(ctx, func() error {
		if err := claim(ctx); err != nil {
			return err
		}
		d.openLive()
		return d.loop(ctx)
	})
	if errors.As(err, new(*db.GoneError)) && d.dead == nil {
		err = d.recordLost(err)
		d.dead = err
	}
	if err != nil {
		err = errors.Join(err, caught(d.head.Run, func() error { return d.failing(ctx, err) }))
	}
	cancel()
	closing := caught(d.head.Run, func() error {
		defer d.close()
		out = d.outcome()
		return nil
	})
	return out, errors.Join(err, closing)
}

// owns says whether the claim of this process is durable.
func (d *driver) owns() bool { return d.head.Epoch > d.before }

// failing records what kept this process from driving the run on: in its journal, or, where a commit failed, beside its lock
// for who finds the run without an owner.
func (d *driver) failing(ctx context.Context, err error) error {
	if d.dead == nil && d.owns() && d.state.Status == recovery.StatusRunning && !errors.As(err, new(*PanicError)) {
		d.withdraw("the host could not go on")
		if err := d.leave(ctx, recovery.CauseFailing, err.Error()); !errors.Is(err, errLeave) {
			return err
		}
	}
	if d.dead != nil && !errors.Is(d.dead, db.ErrLostRace) {
		_ = noteDiskError(d.p.Home, d.dead) // a disk that takes no note either; its error is the one that is returned
		return d.p.Locks().Describe(d.lock, d.p.Store.Clean(d.dead.Error()))
	}
	return nil
}

// outcome is what the journal says. After a commit that failed nobody knows what it says, so nothing is claimed.
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
	out := Outcome{Run: c.Run, Thread: c.Thread, Status: recovery.StatusInterrupted, Cause: recovery.CauseFailing, Detail: d.p.Store.Clean(d.dead.Error())}
	if errors.Is(d.dead, db.ErrLostRace) {
		out.Cause = recovery.CauseTakeover
	}
	return out
}

// close ends what works for the run in this process. Its lock is its holder's to give up.
func (d *driver) close() {
	defer d.waker.Close()
	d.live.close()
	d.dropLive()
	d.tidy()
	d.env.Release()
}
