package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/runner"
)

// caller carries out the calls of the turn: it makes them ready, begins them once their start is
// durable, and takes what comes back.
type caller struct {
	*recorder
	policy  *policy
	inbox   *inbox
	elicits *elicits

	pending []pendingStart             // effects that may begin once the facts are durable
	done    []tools.Call               // calls of a runner whose files go once the facts are durable
	results chan ended                 // from calls that are under way
	came    []ended                    // results that were recorded and are not durable yet
	flying  map[int]context.CancelFunc // by index in the current turn
	handles map[int]prepared           // by index in the current turn
	below   below
	alone   bool  // the witness of the run hears nothing more
	full    error // the state folder had no room for a call's files: nothing new may be started
}

// start makes calls ready, records their start, and has them begin once that is durable. Step 5.
func (cl *caller) start(ctx context.Context, calls []*recovery.Call) error {
	together := len(calls) + len(cl.state.InFlight()) // what is under way has its share of the limits
	for _, c := range calls {
		if void := cl.policy.void(c); void != nil {
			cl.record(void)
			return nil
		}
	}
	switch l := cl.policy.deniedOf(ctx, calls); {
	case l.err != nil:
		return nil // the loop leaves before the next effect
	case l.fact != nil:
		cl.record(l.fact)
		return nil
	case l.took: // somebody may have had the run end meanwhile
		if err := cl.inbox.readInbox(ctx); err != nil || cl.state.Stopping != nil {
			return err
		}
	}
	for _, c := range calls {
		if ctx.Err() != nil {
			return nil // likewise
		}
		if ready, err := cl.prepare(ctx, c, together); err != nil || !ready {
			return err
		}
	}
	return nil
}

// prepared is what a tool laid ready for a call.
type prepared struct {
	handle any
	tool   tools.Tool
	call   tools.Call
}

// prepare lays ready what the call needs and records its start; a call that cannot be made ready is
// settled as not executed. A state folder that takes no files is no fault of the call: the run
// stops here, and the call is still to come. The start is in the commit of step 4, or of step 6
// where another call was before it. So many calls are under way together.
func (cl *caller) prepare(ctx context.Context, c *recovery.Call, together int) (bool, error) {
	t, err := cl.env.Tools.Get(c.Tool)
	if err != nil {
		cl.settleNotRun(c, err)
		return false, nil
	}
	if err := cl.policy.entire(c); err != nil {
		cl.settleNotRun(c, err)
		return false, nil
	}
	place := c.Place
	place.Attempt++
	fact := journal.CallStarted{Place: place, Binding: c.Approved}
	delete(cl.handles, c.Index)
	if p, ok := t.(tools.Preparer); ok {
		fault.Hit(fault.BeforePrepare)
		tc := cl.toolCall(c)
		tc.Place, tc.Parent = place, parentOf(cl.state, together)
		tc.Parent.Tools = cl.env.Tools.Names()
		before, handle, err := p.Prepare(ctx, tc)
		if errors.Is(err, runner.ErrBegan) {
			if err := cl.p.clearGivenUp(tc); err != nil {
				return false, err
			}
			before, handle, err = p.Prepare(ctx, tc)
		}
		if _, ours := t.(tools.Process); ours && unwritable(err) {
			cl.full = err
			return false, nil
		}
		if err != nil && ctx.Err() != nil {
			return false, nil // the process is asked to stop, which is no fault of the call: it is still to come
		}
		if err != nil {
			cl.settleNotRun(c, err)
			return false, nil
		}
		fact.Before, cl.handles[c.Index] = before, prepared{handle, t, tc}
		if d, ok := handle.(tools.Delegated); ok {
			fact.Child = d.Child()
		}
		fault.Hit(fault.AfterPrepare)
	}
	if fact.Marks, err = cl.keepFiles(ctx, c); err != nil {
		if ctx.Err() != nil {
			return false, nil // likewise
		}
		return false, err
	}
	cl.record(fact)
	cl.begin(ctx, c, t)
	return true, nil
}

func (cl *caller) settleNotRun(c *recovery.Call, err error) {
	cl.record(recovery.NotRun(c, journal.OutcomeError, err.Error()))
}

// begin has the call act in a goroutine of its own, once its start is durable.
func (cl *caller) begin(ctx context.Context, c *recovery.Call, t tools.Tool) {
	caller, ok := t.(tools.Caller)
	if !ok {
		panic(fmt.Sprintf("call %s: tool %s cannot be called", c.Place, c.Tool))
	}
	do := caller.Call
	if a, ok := t.(tools.Process); ok {
		do = cl.orAttach(do, a)
	}
	cl.fly(ctx, c, journal.HowExecuted, do)
}

// orAttach has a call whose tool panicked waited for as a recovery would: its process may be
// running.
func (cl *caller) orAttach(do act, a tools.Process) act {
	return func(ctx context.Context, c tools.Call) (r journal.Result, err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			cl.p.Warn(c.Run, "call %s: its tool panicked: %v", c.Place, p)
			if prepared, ok := c.Handle.(io.Closer); ok {
				_ = prepared.Close() // one that began has closed it already
			}
			r, err = a.Attach(ctx, c)
		}()
		return do(ctx, c)
	}
}

// attach picks up a call that still runs under its runner.
func (cl *caller) attach(ctx context.Context, c *recovery.Call, a tools.Process) {
	cl.fly(ctx, c, journal.HowAttached, a.Attach)
}

type act func(context.Context, tools.Call) (journal.Result, error)

func (cl *caller) fly(ctx context.Context, c *recovery.Call, how journal.How, do act) {
	callCtx, cancel := context.WithCancel(ctx)
	cl.flying[c.Index] = cancel
	tc := cl.toolCall(c)
	tc.Waits = cl.waits(callCtx, tc.Place)
	began := time.Now()
	cl.pending = append(cl.pending, pendingStart{tc.Place, how == journal.HowExecuted, func() {
		cl.below.begin(tc)
		go func() {
			defer cl.below.end(tc)
			e := ended{place: tc.Place}
			defer func() {
				if p := recover(); p != nil {
					e.host = newPanic(tc.Run, p)
				}
				cl.results <- e
			}()
			e = carryOut(callCtx, tc, do)
			e.how, e.took = how, time.Since(began)
			fault.Hit(fault.AfterEffect)
		}()
	}})
}

func carryOut(ctx context.Context, tc tools.Call, do act) (e ended) {
	e.place = tc.Place
	defer func() {
		if p := recover(); p != nil {
			e.panic = p
		}
	}()
	e.result, e.err = do(ctx, tc)
	return e
}

// stopCalls ends what is under way: a runner is asked durably, anything else by its context.
func (cl *caller) stopCalls(ctx context.Context, a recovery.StopCalls) error {
	cl.attachAgain(ctx)
	if err := cl.flush(ctx); err != nil {
		return err
	}
	for _, c := range a.Calls {
		t, err := cl.env.Tools.Get(c.Tool)
		if err != nil {
			return err
		}
		if at, ok := t.(tools.Process); ok {
			if err := at.Stop(cl.toolCall(c), a.Reason); err != nil {
				cl.p.Warn(cl.state.Created.Run, "%v", err)
			}
		} else if cancel := cl.flying[c.Index]; cancel != nil {
			cancel()
		}
	}
	if len(cl.flying) == 0 {
		cl.giveUp(ctx, a.Calls) // nothing is under way that could come back
		return nil
	}
	limit := time.NewTimer(stopPatience)
	defer limit.Stop()
	select {
	case e := <-cl.results:
		cl.settle(e)
		cl.drain()
	case <-limit.C:
		cl.giveUp(ctx, slices.DeleteFunc(slices.Clone(a.Calls), isBelow)) // a run below ends by itself what does not react
	case <-ctx.Done():
	}
	return nil
}

// stopPatience is how long a call is waited for after it was asked to stop; a runner kills its
// command after two seconds.
const stopPatience = 15 * time.Second

// giveUp ends by force what does not react, and judges it by what it left, as a recovery would.
func (cl *caller) giveUp(ctx context.Context, calls []*recovery.Call) {
	ctx = context.WithoutCancel(ctx)
	for _, c := range calls {
		var left []string
		if a, ok := cl.tool(cl.toolCall(c)).(tools.Process); ok {
			var err error
			if left, err = a.Kill(ctx, cl.toolCall(c)); err != nil {
				cl.p.Warn(cl.state.Created.Run, "%v", err)
			}
			cl.done = append(cl.done, cl.toolCall(c))
		}
		e := cl.judge().evidence(ctx, cl.state, c, true)
		if e.Process.State == recovery.ProcessRunning {
			e.Process.State, e.Process.Alive = recovery.ProcessLost, left
			e.Process.Why = "it was asked to stop and did not react"
		}
		delete(cl.flying, c.Index)
		cl.recordAll(recovery.Judge(c, nil, e).Facts(c))
	}
}

// underWay are the calls that act now, in the model's order. Those that wait for their commit do
// not.
func (cl *caller) underWay() []journal.Place {
	var running []journal.Place
	for i := range cl.flying {
		if !slices.ContainsFunc(cl.pending, func(l pendingStart) bool { return l.place.Index == i }) {
			running = append(running, journal.Place{Turn: len(cl.state.Turns), Index: i})
		}
	}
	slices.SortFunc(running, func(a, b journal.Place) int { return cmp.Compare(a.Index, b.Index) })
	return running
}
