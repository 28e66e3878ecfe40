package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"agent/host/stream"
	"agent/host/words"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// settle takes what came back from a call. A panic of the host beside the call is passed on once
// the result is recorded.
func (cl *caller) settle(e ended) {
	if e.waits != nil {
		cl.below.waiting(e.place.Index, *e.waits)
		return
	}
	cl.came = append(cl.came, e)
	cl.settleOne(e)
	if e.host != nil {
		panic(e.host)
	}
}

// settleOne turns what came back into the call's one result. A call of a runner that this process
// only stopped watching stays without one: it goes on, and the next owner picks it up. So does a
// call that a shutdown kept from acting, where the next owner can see that it did not act: as a
// failed call it would be lost.
// The result is in the commit of step 6.
func (cl *caller) settleOne(e ended) {
	if cancel := cl.flying[e.place.Index]; cancel != nil {
		cancel()
	}
	delete(cl.flying, e.place.Index)
	cl.elicits.dropQuestion(e.place)
	if cl.below.suspended(e) {
		return
	}
	c, err := cl.state.Call(e.place)
	if err != nil || c.Phase != journal.PhaseStarted {
		return // it was settled by another word meanwhile
	}
	t, _ := cl.env.Tools.Get(c.Tool) // a tool that began is there
	stopped := errors.Is(e.err, context.Canceled) || errors.Is(e.err, ErrShutdown)
	if stopped && (outlives(t) || cl.state.Stopping == nil && (c.Effect == journal.EffectRead || untouched(t, e.result))) {
		return
	}
	if cl.stalled(t, e) {
		cl.full = e.err
		return
	}
	r := finish(c, e)
	cl.record(journal.CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r})
	cl.below.unknown = cl.below.unknown || r.Child != nil && len(r.Child.Unknown) > 0
	if outlives(t) {
		cl.done = append(cl.done, cl.toolCall(c))
	}
}

// untouched says that a call changed nothing, and that its tool can look at that again.
func untouched(t tools.Tool, r journal.Result) bool {
	_, inspects := t.(tools.Inspector)
	return inspects && r.Applied == journal.AppliedNo
}

// finish completes a result: a panic or an error after a side effect may have begun is unknown,
// never a plain failure.
func finish(c *recovery.Call, e ended) journal.Result {
	r := e.result
	if r.Took == 0 {
		r.Took = e.took
	}
	if r.How == "" {
		r.How = e.how
	}
	reads := c.Effect == journal.EffectRead
	switch {
	case e.panic != nil:
		r.Content, r.Applied = fmt.Sprintf("%s panicked: %v", c.Tool, firstLine(e.panic)), ""
		r.Outcome = journal.OutcomeError
	case e.err != nil:
		if r.Content == "" {
			r.Content = e.err.Error()
		}
		if r.Outcome == "" || r.Outcome == journal.OutcomeOK {
			r.Outcome = journal.OutcomeError
		}
	}
	if r.Applied == "" {
		r.Applied = journal.AppliedUnknown
		if reads || (e.panic == nil && e.err == nil && r.Outcome == journal.OutcomeOK) {
			r.Applied = appliedBy(reads)
		}
	}
	if r.Outcome == journal.OutcomeError && r.Applied == journal.AppliedUnknown {
		r.Outcome = journal.OutcomeUnknown
		r.Content = "outcome unknown: " + r.Content + "\nIt may or may not have happened. It was not repeated."
	}
	return r
}

func appliedBy(reads bool) journal.Applied {
	if reads {
		return journal.AppliedNo
	}
	return journal.AppliedYes
}

func firstLine(v any) string { return words.Brief(fmt.Sprint(v), 200) }

// gathers waits for further results where there is nothing to record but results of reads, so that
// reads that end together share a commit. It says whether one came.
func (cl *caller) gathers(ctx context.Context) bool {
	if len(cl.facts) == 0 || len(cl.pending) > 0 || len(cl.consume) > 0 {
		return false
	}
	for _, f := range cl.facts {
		s, ok := f.Body.(journal.CallSettled)
		if !ok {
			return false
		}
		if c, err := cl.state.Call(s.Place); err != nil || c.Effect != journal.EffectRead {
			return false
		}
	}
	wait := time.NewTimer(min(gatherFor, gatherFor-cl.steady().Sub(cl.facts[0].Time)))
	defer wait.Stop()
	select {
	case e := <-cl.results:
		cl.settle(e)
		cl.drain()
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

// drain takes what has come meanwhile, so that results that end together share a commit.
func (cl *caller) drain() {
	for {
		select {
		case e := <-cl.results:
			cl.settle(e)
		default:
			return
		}
	}
}

// collect takes the results of calls that act inside this process. Those of a runner come back at
// once, without a result.
func (cl *caller) collect(wait time.Duration) {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for len(cl.flying) > 0 {
		select {
		case e := <-cl.results:
			cl.settle(e)
		case <-limit.C:
			return
		}
	}
}

// gatherFor is how long results of reads wait for those of their neighbours. Nothing is in doubt
// meanwhile: a read whose result was not recorded is read again.
const gatherFor = 20 * time.Millisecond

func (cl *caller) tool(c tools.Call) tools.Tool {
	call, err := cl.state.Call(c.Place)
	if err != nil {
		return nil
	}
	t, _ := cl.env.Tools.Get(call.Tool) // an unknown tool is nil, which every caller looks at
	return t
}

// toolCall is the call as its tool sees it.
func (cl *caller) toolCall(c *recovery.Call) tools.Call {
	run, place := cl.state.Created.Run, c.Place
	tc := callFor(cl.state, c)
	tc.Handle, tc.Ask = cl.handles[c.Index].handle, cl.elicits.asker(c.Place)
	tc.Show = func(p []byte) { cl.p.Hub.Publish(stream.Event{Run: run, Call: &place, Output: p}) }
	return tc
}

// ended is what came back from a call.
type ended struct {
	place  journal.Place
	result journal.Result
	err    error
	panic  any         // of the tool
	host   *PanicError // of the host beside it
	how    journal.How
	took   time.Duration
	waits  *bool // nothing came back: the call waits for people alone, or does so no longer
}

// settleAgain records the results that came and did not become durable.
func (cl *caller) settleAgain() {
	came := cl.came
	cl.came = nil
	for _, e := range came {
		e.host = nil
		cl.settle(e)
	}
}

// dropPending forgets what waited for a commit. It closes what was prepared for calls that had not
// begun, which is their proof of it, and returns that with those calls whose start may be on
// record.
func (cl *caller) dropPending() (never []journal.Place, ready []prepared) {
	for _, l := range cl.pending {
		if cancel := cl.flying[l.place.Index]; cancel != nil {
			cancel()
		}
		delete(cl.flying, l.place.Index)
		if l.fresh {
			never = append(never, l.place)
		}
	}
	cl.pending = nil
	for index, p := range cl.handles {
		if cl.flying[index] != nil {
			continue
		}
		delete(cl.handles, index)
		c, ok := p.handle.(io.Closer)
		if ok && c.Close() == nil { // one that began has closed it already
			ready = append(ready, p)
		}
	}
	return never, ready
}
