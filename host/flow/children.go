package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agent/host/child"
	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"agent/tools"
)

// kid is a child that this process drives, or drove.
type kid struct {
	waits  bool // for people alone
	over   bool // its goroutine has ended
	err    error
	cancel context.CancelFunc
}

// children are those that this process drives, each in a goroutine of its own.
type children struct {
	carrier  *child.Carrier
	happened chan struct{} // something did, to one of them
	going    sync.WaitGroup

	mu   sync.Mutex
	kids map[string]*kid // by run
}

func newChildren(carrier *child.Carrier) *children {
	return &children{carrier: carrier, happened: make(chan struct{}, 1), kids: map[string]*kid{}}
}

// world is how the children of parts that are under way stand.
func (f *carrying) world(ctx context.Context, p *drive.Process) (flow.World, error) {
	if p := f.children.panicked(); p != nil {
		panic(p) // which ends the flow, as a panic of its own goroutine does
	}
	w := flow.World{Children: map[string]flow.Child{}, Spent: f.s.Run.Spent(p.Now()), Repeats: f.asks}
	ctx = context.WithoutCancel(ctx)
	for _, x := range flow.UnderWay(f.s) {
		run := x.Open.Run
		c, err := f.stands(ctx, p, run)
		if err != nil {
			return w, err
		}
		w.Children[run] = c
	}
	return w, nil
}

// stands says how one child stands.
func (f *carrying) stands(ctx context.Context, p *drive.Process, run string) (flow.Child, error) {
	if state, here := f.children.state(run); here {
		return flow.Child{State: state}, nil
	}
	row, there, err := f.engine.Carrier.Row(ctx, run)
	if err != nil || !there {
		return flow.Child{}, err
	}
	if row.Status.Terminal() {
		return flow.Child{State: flow.ChildEnded}, nil
	}
	s, err := drive.Alone(ctx, p, run)
	if err != nil {
		return flow.Child{}, fmt.Errorf("read run %s: %w", run, err)
	}
	c := flow.Child{State: flow.ChildIdle}
	c.Did = acts(s, f.s.Of(run))
	c.Quiet = len(c.Did) == 0
	c.Usage, _ = s.Used()
	c.Cost, _ = s.Cost()
	if row.Status == recovery.StatusWaiting {
		can, _, err := f.engine.Carrier.CanGoOn(ctx, run)
		if err != nil {
			return c, err
		}
		if !can {
			c.State = flow.ChildWaiting
		}
	}
	return c, nil
}

// state is that of a child which is driven here; false of any other. One that goes no further here
// is not begun here again.
func (f *children) state(run string) (flow.ChildState, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch k := f.kids[run]; {
	case k == nil, k.over && k.err == nil:
		return "", false
	case !k.over && k.waits:
		return flow.ChildWaiting, true
	}
	return flow.ChildRunning, true
}

// tick says that something happened to a child.
func (f *children) tick() {
	select {
	case f.happened <- struct{}{}:
	default:
	}
}

// begin drives a child in a goroutine of its own.
func (f *children) begin(ctx context.Context, t child.Task) {
	ctx, cancel := context.WithCancel(ctx)
	k := &kid{cancel: cancel}
	f.mu.Lock()
	f.kids[t.Run] = k
	f.mu.Unlock()
	t.Waits = func(waits bool) {
		f.mu.Lock()
		k.waits = waits
		f.mu.Unlock()
		f.tick()
	}
	f.going.Add(1)
	go func() {
		defer f.going.Done()
		defer cancel()
		err := drive.Caught(t.Run, func() error { return f.carrier.Carry(ctx, t) })
		left, panicked := new(tools.SuspendedError), errors.As(err, new(*drive.PanicError))
		if !panicked && (ctx.Err() != nil || errors.As(err, &left) && left.Waits) {
			err = nil // its journal says how it stands
		}
		f.mu.Lock()
		k.over, k.err = true, err
		f.mu.Unlock()
		f.tick()
	}()
}

// await has children go on until one ends or waits for people, or something else happens.
func (f *carrying) await(ctx context.Context, h drive.Hands, a flow.Await) error {
	var tasks []child.Task
	for _, run := range a.Runs {
		if _, here := f.children.state(run); here {
			continue
		}
		t, ok, err := f.task(ctx, h, run)
		if err != nil || !ok {
			return err
		}
		if l, tighter := a.Limits[run]; tighter && t.Created == nil {
			t.Changes.MaxTurns, t.Changes.Timeout, t.Changes.Tokens, t.Changes.Cost = l.MaxTurns, l.Timeout, l.MaxTokens, l.MaxCost
		}
		tasks = append(tasks, t)
	}
	if err := h.Commit(ctx); err != nil {
		return err
	}
	for _, t := range tasks {
		f.children.begin(ctx, t)
	}
	return f.wait(ctx, h)
}

// wait waits for something to happen. Where nothing acts here any more but what went no further,
// the flow is left for the reason of that.
func (f *carrying) wait(ctx context.Context, h drive.Hands) error {
	acts, left := f.children.acting()
	if left == nil || acts {
		return h.Wait(ctx, f.children.happened)
	}
	f.children.stopDriving()
	cause, detail := child.Cause(left), left.Error()
	if s := new(tools.SuspendedError); errors.As(left, &s) {
		cause, detail = s.Cause, s.Detail
	}
	return h.Interrupt(ctx, cause, detail)
}

// panicked is a panic of this program beside a child, once: the child's journal says how it stands.
func (f *children) panicked() (p *drive.PanicError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for run, k := range f.kids {
		if k.over && errors.As(k.err, &p) {
			delete(f.kids, run)
			return p
		}
	}
	return nil
}

// acting says whether a child acts here, and why one goes no further here.
func (f *children) acting() (acts bool, left error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kids {
		acts = acts || !k.over && !k.waits
		if k.over && k.err != nil && left == nil {
			left = k.err
		}
	}
	return acts, left
}

// forget drops children whose journals say how they stand.
func (f *children) forget(runs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range runs {
		delete(f.kids, run)
	}
}

// stopDriving lets go of every child.
func (f *children) stopDriving() {
	f.mu.Lock()
	for _, k := range f.kids {
		k.cancel()
	}
	f.mu.Unlock()
	f.going.Wait()
}

// endChildren has children end: what they run is stopped and their calls are settled.
func (f *carrying) endChildren(ctx context.Context, h drive.Hands, a flow.EndChildren) error {
	if err := h.Commit(ctx); err != nil {
		return err
	}
	c := f.s.Run.Created
	for _, run := range a.Runs {
		if err := f.engine.Carrier.Stop(ctx, run, c.Run, a.Reason); err != nil {
			return err
		}
		if _, here := f.children.state(run); !here {
			f.children.begin(ctx, child.Task{Run: run})
		}
	}
	return f.wait(ctx, h)
}

// park leaves the flow to people: all that is under way waits for them. Children are let go of
// first, and where one of them went on in that moment, so does the flow.
func (f *carrying) park(ctx context.Context, h drive.Hands, a flow.Park) error {
	f.children.stopDriving()
	f.children.forget(a.Runs...)
	if ctx.Err() != nil {
		return nil
	}
	w, err := f.world(ctx, h.Process())
	if err != nil {
		return err
	}
	if now, ok := flow.Next(f.s, w).(flow.Park); !ok || !slices.Equal(now.Runs, a.Runs) {
		return nil
	}
	f.record(h, journal.RunParked{Children: a.Runs})
	if err := h.Commit(ctx); err != nil {
		return err
	}
	fault.Hit(fault.Parked)
	return h.Leave(ctx)
}
