package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools"
	"agent/tools/runner"
)

// start makes calls ready, records their start, and has them begin once that is durable.
func (d *driver) start(ctx context.Context, calls []*recovery.Call) error {
	for _, c := range calls {
		if err := ctx.Err(); err != nil {
			return nil // the loop leaves before the next effect
		}
		if void := d.void(c); void != nil {
			d.record(void)
			return nil
		}
		if ready, err := d.prepare(ctx, c); err != nil || !ready {
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

// prepare lays ready what the call needs and records its start; a call that cannot be made ready is settled as not executed.
// A state folder that takes no files is no fault of the call: the run stops here, and the call is still to come.
func (d *driver) prepare(ctx context.Context, c *recovery.Call) (bool, error) {
	t, err := d.env.Tools.Get(c.Tool)
	if err != nil {
		d.tellNotRun(c, err)
		return false, nil
	}
	if err := d.entire(c); err != nil {
		d.tellNotRun(c, err)
		return false, nil
	}
	place := c.Place
	place.Attempt++
	fact := recovery.CallStarted{Place: place, Binding: c.Approved}
	delete(d.handles, c.Index)
	if p, ok := t.(tools.Preparer); ok {
		fault.Hit(fault.BeforePrepare)
		tc := d.toolCall(c)
		tc.Place = place
		before, handle, err := p.Prepare(ctx, tc)
		if errors.Is(err, runner.ErrBegan) {
			if err := d.p.clearGivenUp(tc); err != nil {
				return false, err
			}
			before, handle, err = p.Prepare(ctx, tc)
		}
		if _, ours := t.(tools.Attacher); ours && unwritable(err) {
			d.full = err
			return false, nil
		}
		if err != nil && ctx.Err() != nil {
			return false, nil // the process is asked to stop, which is no fault of the call: it is still to come
		}
		if err != nil {
			d.tellNotRun(c, err)
			return false, nil
		}
		fact.Before, d.handles[c.Index] = before, prepared{handle, t, tc}
		fault.Hit(fault.AfterPrepare)
	}
	d.record(fact)
	d.begin(ctx, c, t)
	return true, nil
}

func (d *driver) tellNotRun(c *recovery.Call, err error) {
	d.record(recovery.NotRun(c, recovery.OutcomeError, err.Error()))
}

// begin has the call act in a goroutine of its own, once its start is durable.
func (d *driver) begin(ctx context.Context, c *recovery.Call, t tools.Tool) {
	caller, ok := t.(tools.Caller)
	if !ok {
		panic(fmt.Sprintf("call %s: tool %s cannot be called", c.Place, c.Tool))
	}
	do := caller.Call
	if a, ok := t.(tools.Attacher); ok {
		do = d.orAttach(do, a)
	}
	d.fly(ctx, c, recovery.HowExecuted, do)
}

// orAttach has a call whose tool panicked waited for as a recovery would: its process may be running.
func (d *driver) orAttach(do act, a tools.Attacher) act {
	return func(ctx context.Context, c tools.Call) (r recovery.Result, err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			d.p.Warn(c.Run, "call %s: its tool panicked: %v", c.Place, p)
			if prepared, ok := c.Handle.(io.Closer); ok {
				_ = prepared.Close() // one that began has closed it already
			}
			r, err = a.Attach(ctx, c)
		}()
		return do(ctx, c)
	}
}

// attach picks up a call that still runs under its runner.
func (d *driver) attach(ctx context.Context, c *recovery.Call, a tools.Attacher) {
	d.fly(ctx, c, recovery.HowAttached, a.Attach)
}

type act func(context.Context, tools.Call) (recovery.Result, error)

func (d *driver) fly(ctx context.Context, c *recovery.Call, how recovery.How, do act) {
	callCtx, cancel := context.WithCancel(ctx)
	d.flying[c.Index] = cancel
	tc := d.toolCall(c)
	began := time.Now()
	d.launch = append(d.launch, takeOff{tc.Place, how == recovery.HowExecuted, func() {
		go func() {
			e := ended{place: tc.Place}
			defer func() {
				if p := recover(); p != nil {
					e.host = newPanic(tc.Run, p)
				}
				d.results <- e
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

// settle takes what came back from a call. A panic of the host beside the call is passed on once the result is recorded.
func (d *driver) settle(e ended) {
	d.came = append(d.came, e)
	d.settleOne(e)
	if e.host != nil {
		panic(e.host)
	}
}

// settleOne turns what came back into the call's one result. A call of a runner that this process only stopped watching
// stays without one: it goes on, and the next owner picks it up. So does a call that a shutdown kept from acting, where the next
// owner can see that it did not act: as a failed call it would be lost.
func (d *driver) settleOne(e ended) {
	if cancel := d.flying[e.place.Index]; cancel != nil {
		cancel()
	}
	delete(d.flying, e.place.Index)
	d.hushed(e.place)
	c, err := d.state.Call(e.place)
	if err != nil || c.Phase != recovery.PhaseStarted {
		return // it was settled by another word meanwhile
	}
	t, _ := d.env.Tools.Get(c.Tool) // a tool that began is there
	stopped := errors.Is(e.err, context.Canceled) || errors.Is(e.err, ErrShutdown)
	if stopped && (outlives(t) || d.state.Stopping == nil && (c.Effect == recovery.EffectRead || untouched(t, e.result))) {
		return
	}
	if d.stalled(t, e) {
		d.full = e.err
		return
	}
	r := finish(c, e)
	d.record(recovery.CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r})
	if outlives(t) {
		d.done = append(d.done, d.toolCall(c))
	}
}

// untouched says that a call changed nothing, and that its tool can look at that again.
func untouched(t tools.Tool, r recovery.Result) bool {
	_, inspects := t.(tools.Inspector)
	return inspects && r.Applied == recovery.AppliedNo
}

// finish completes a result: a panic or an error after a side effect may have begun is unknown, never a plain failure.
func finish(c *recovery.Call, e ended) recovery.Result {
	r := e.result
	if r.Took == 0 {
		r.Took = e.took
	}
	if r.How == "" {
		r.How = e.how
	}
	reads := c.Effect == recovery.EffectRead
	switch {
	case e.panic != nil:
		r.Content, r.Applied = fmt.Sprintf("%s panicked: %v", c.Tool, firstLine(e.panic)), ""
		r.Outcome = recovery.OutcomeError
	case e.err != nil:
		if r.Content == "" {
			r.Content = e.err.Error()
		}
		if r.Outcome == "" || r.Outcome == recovery.OutcomeOK {
			r.Outcome = recovery.OutcomeError
		}
	}
	if r.Applied == "" {
		r.Applied = recovery.AppliedUnknown
		if reads || (e.panic == nil && e.err == nil && r.Outcome == recovery.OutcomeOK) {
			r.Applied = appliedBy(reads)
		}
	}
	if r.Outcome == recovery.OutcomeError && r.Applied == recovery.AppliedUnknown {
		r.Outcome = recovery.OutcomeUnknown
		r.Content = "outcome unknown: " + r.Content + "\nIt may or may not have happened. It was not repeated."
	}
	return r
}

func appliedBy(reads bool) recovery.Applied {
	if reads {
		return recovery.AppliedNo
	}
	return recovery.AppliedYes
}

func firstLine(v any) string { return brief(fmt.Sprint(v), 200) }

// stopCalls ends what is under way: a runner is asked durably, anything else by its context.
func (d *driver) stopCalls(ctx context.Context, a recovery.StopCalls) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	for _, c := range a.Calls {
		t, err := d.env.Tools.Get(c.Tool)
		if err != nil {
			return err
		}
		if at, ok := t.(tools.Attacher); ok {
			if err := at.Stop(d.toolCall(c), a.Reason); err != nil {
				d.p.Warn(d.state.Created.Run, "%v", err)
			}
		} else if cancel := d.flying[c.Index]; cancel != nil {
			cancel()
		}
	}
	if len(d.flying) == 0 {
		d.giveUp(ctx, a.Calls) // nothing is under way that could come back
		return nil
	}
	limit := time.NewTimer(stopPatience)
	defer limit.Stop()
	select {
	case e := <-d.results:
		d.settle(e)
		d.drain()
	case <-limit.C:
		d.giveUp(ctx, a.Calls)
	case <-ctx.Done():
	}
	return nil
}

// stopPatience is how long a call is waited for after it was asked to stop; a runner kills its command after two seconds.
const stopPatience = 15 * time.Second

// giveUp ends by force what does not react, and judges it by what it left, as a recovery would.
func (d *driver) giveUp(ctx context.Context, calls []*recovery.Call) {
	ctx = context.WithoutCancel(ctx)
	for _, c := range calls {
		var left []string
		if a, ok := d.tool(d.toolCall(c)).(tools.Attacher); ok {
			var err error
			if left, err = a.Bury(ctx, d.toolCall(c)); err != nil {
				d.p.Warn(d.state.Created.Run, "%v", err)
			}
			d.done = append(d.done, d.toolCall(c))
		}
		e := d.judge().evidence(ctx, d.state, c, true)
		if e.Process.State == recovery.ProcessRunning {
			e.Process.State, e.Process.Alive = recovery.ProcessLost, left
			e.Process.Why = "it was asked to stop and did not react"
		}
		delete(d.flying, c.Index)
		d.recordAll(recovery.Judge(c, nil, e).Facts(c))
	}
}
