package drive

import (
	"cmp"
	"context"
	"errors"

	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// flush makes the facts durable, shows them, and only then begins the effects that waited for them:
// the commits of steps 4, 6 and 7, and the publishing of step 7.
func (cl *caller) flush(ctx context.Context) error {
	if cl.dead != nil {
		return cl.dead
	}
	if len(cl.facts) > 0 {
		err := cl.inbox.settleElsewhere(ctx)
		if err == nil {
			err = cl.commit(ctx)
		}
		if err != nil {
			cl.dead = cl.recordLost(err)
			return cl.dead
		}
		for i := range cl.facts {
			cl.p.Hub.Publish(stream.Event{Run: cl.state.Created.Run, Fact: &cl.facts[i]})
		}
		cl.p.sayKept(cl.state.Created.Run)
		reached(cl.facts)
		cl.deliver(ctx, cl.facts)
		why := announced(cl.state, cl.facts)
		cl.facts, cl.kept, cl.consume, cl.refused, cl.came = nil, nil, nil, nil, nil
		if err := cl.tell(ctx, why); err != nil {
			return cl.unwitnessed(ctx, err)
		}
	} else if err := cl.inbox.dropRefused(ctx); err != nil {
		cl.dead = cl.recordLost(err)
		return cl.dead
	} else if err := cl.present(); err != nil {
		return err
	}
	asksNext := cl.state.Status == recovery.StatusRunning && len(cl.flying) == 0
	for len(cl.pending) > 0 {
		l := cl.pending[0]
		cl.pending = cl.pending[1:]
		if l.fresh && (cl.full != nil || cl.p.Store.DiskFull()) {
			cl.full = cmp.Or(cl.full, errDiskFull)
			cl.abortStart(l.place, cl.full)
			continue
		}
		if l.fresh {
			if err := cl.still(ctx, l.place); err != nil {
				cl.pending = append(cl.pending, l)
				return cl.unwitnessed(ctx, err)
			}
		}
		l.begin()
	}
	if !asksNext {
		cl.forget() // beside what has begun, and not before it
	}
	return nil
}

// reached passes the fault points that lie behind a commit, before its facts reach anybody.
func reached(facts []journal.Event) {
	for _, f := range facts {
		switch f.Body.(type) {
		case journal.CallStarted:
			fault.Hit(fault.AfterStarted)
		case journal.CallSettled:
			fault.Hit(fault.AfterSettled)
		case journal.TurnSettled:
			fault.Hit(fault.AfterTurn)
		case journal.ModelFailed:
			fault.Hit(fault.AfterFailed)
		case journal.ContextCompacted:
			fault.Hit(fault.AfterSummary)
		case journal.CallJudged:
			fault.Hit(fault.AfterVerdict)
		case journal.RequestOpened:
			fault.Hit(fault.AtQuestion)
		case journal.RequestAnswered:
			fault.Hit(fault.AfterAnswer)
		case journal.FlowPhaseStarted:
			fault.Hit(fault.PhaseStarted)
		case journal.FlowPhaseEnded:
			fault.Hit(fault.PhaseEnded)
		case journal.PhaseRewound:
			fault.Hit(fault.PhaseRewound)
		case journal.ArtifactsChecked:
			fault.Hit(fault.ArtifactsLooked)
		}
	}
}

// deliver passes durable facts on to who waits for them: a call that asked, and the run that a
// decision is about.
func (cl *caller) deliver(ctx context.Context, facts []journal.Event) {
	for _, f := range facts {
		switch b := f.Body.(type) {
		case journal.CallResolved:
			if b.Run != "" && !cl.inbox.cameFromThere(b) {
				cl.inbox.settledElsewhere(ctx, b)
			}
		case journal.CallSettled:
			cl.dropOutput(b)
		case journal.RequestAnswered:
			cl.elicits.answeredAsked(b.ID, b.Answer, nil)
		case journal.RequestClosed:
			cl.elicits.answeredAsked(b.ID, nil, errGaveUp)
		}
	}
}

// dropOutput lets go of a call's whole output, which the store keeps now.
func (cl *caller) dropOutput(b journal.CallSettled) {
	if c, err := cl.state.Call(b.Place); err == nil && c.Result != nil {
		c.Result.Full, c.Result.Blob = nil, b.Result.Blob
	}
}

func (cl *caller) interrupt(ctx context.Context, c journal.Cause, detail string) error {
	cl.record(journal.RunInterrupted{Cause: c, Detail: detail})
	return errors.Join(cl.flush(ctx), errLeave)
}
