package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agent/db"
	"agent/host/stream"
	"agent/recovery"
	"agent/tools"
)

// Rule records a person's word on a call whose outcome is unknown, in whatever status its run is, without a model. It
// returns once the word is in the journal, or says that it is kept for the process that drives the run.
func (h *Host) Rule(ctx context.Context, c db.CallRow, w recovery.Word) error {
	id, err := h.putRuling(ctx, c.Run, recovery.CallRuled{
		Place: recovery.Place{Turn: c.Turn, Index: c.Index}, Word: w, By: h.Who,
	})
	if err != nil {
		return err
	}
	wake, err := stream.NewWaker(h.Store.Files()...)
	if err != nil {
		return err
	}
	defer wake.Close()
	wait, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	for {
		err := h.takeRulings(ctx, c.Run)
		var held *HeldError
		if !errors.As(err, &held) {
			return err
		}
		if waiting, err := h.inInbox(ctx, c.Run, id); err != nil || !waiting {
			return err
		}
		select {
		case <-wake.C():
		case <-wait.Done():
			return fmt.Errorf("settle call %s: the word is kept, and %s has not taken it yet", c.ID, held.Holder)
		}
	}
}

func (h *Host) putRuling(ctx context.Context, run string, r recovery.CallRuled) (int64, error) {
	r.Run = ""
	body, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode word on call %s of run %s: %v", r.Place, run, err)
	}
	return h.Store.PutInbox(ctx, run, inboxRuling, body, r.By)
}

func (h *Host) inInbox(ctx context.Context, run string, id int64) (bool, error) {
	rows, err := h.Store.Inbox(ctx, run)
	for _, r := range rows {
		if r.ID == id {
			return true, err
		}
	}
	return false, err
}

// takeRulings journals words on unknown calls of a run that nobody drives. A word that an earlier one made needless is
// passed over.
func (h *Host) takeRulings(ctx context.Context, run string) error {
	lock, err := h.lock(run)
	if err != nil {
		return err
	}
	head, err := h.Store.Head(ctx, run)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	s, err := h.fold(ctx, run, nil)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	d, err := h.newDriver(s, head, lock)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	rows, err := h.Store.Inbox(ctx, run)
	for _, r := range rows {
		if r.Kind == inboxRuling && err == nil {
			d.consume = append(d.consume, r.ID)
			_ = d.take(ctx, r) // what cannot be taken is a word on a call that has one, or is settled
		}
	}
	return errors.Join(err, d.flush(ctx), d.close())
}

// takeThreadRulings brings home words on calls of a thread's earlier runs that a process which ended had no time to.
func (h *Host) takeThreadRulings(ctx context.Context, thread, except string) error {
	rows, err := h.Store.ThreadRuns(ctx, thread)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ID == except || row.Unknown == 0 {
			continue
		}
		inbox, err := h.Store.Inbox(ctx, row.ID)
		if err != nil {
			return err
		}
		var held *HeldError
		if len(inbox) > 0 {
			if err := h.takeRulings(ctx, row.ID); err != nil && !errors.As(err, &held) {
				return err
			}
		}
	}
	return nil
}

// gone looks again for the call that a question calls possibly running, at the moment when it is to be asked. It returns the
// fact that nothing of it runs any more; nil when that is not so, or cannot be told.
func (h *Host) gone(ctx context.Context, s *recovery.State, facts []recovery.Body) recovery.Body {
	o, ok := facts[len(facts)-1].(recovery.RequestOpened)
	if !ok {
		return nil
	}
	u, ok := s.MayLive(o.Request.Question)
	if !ok {
		return nil
	}
	t, err := h.Tools.Get(u.Tool)
	a, ok := t.(tools.Attacher)
	if err != nil || !ok {
		return nil
	}
	trace, err := h.trace(ctx, s, u)
	if err != nil || len(trace) == 0 {
		return nil
	}
	if left, err := a.Living(trace); err != nil || len(left) > 0 {
		return nil // the question says what is known: it may still be running
	}
	return recovery.RunNoted{Text: fmt.Sprintf("nothing of call %s runs any more; its outcome stays unknown", u.ID), Gone: u.ID}
}

// trace is what was kept of an unknown call to look for it again.
func (h *Host) trace(ctx context.Context, s *recovery.State, u recovery.Unknown) (json.RawMessage, error) {
	if u.Run == s.Created.Run { // its result may not be durable yet
		c, err := s.Call(u.Place)
		if err != nil {
			return nil, err
		}
		return c.Result.Data, nil
	}
	row, err := h.Store.Call(context.WithoutCancel(ctx), u.ID)
	if err != nil || row.Result == nil {
		return nil, err
	}
	return row.Result.Data, nil
}

// settleElsewhere puts a person's word on a call of another run into that run's inbox before the fact here is durable:
// the answer is on record already, so if this process ends in between, it is taken again and nothing is lost.
func (d *driver) settleElsewhere(ctx context.Context) error {
	for _, f := range d.facts {
		if b, ok := f.Body.(recovery.CallRuled); ok && b.Run != "" {
			if _, err := d.h.putRuling(context.WithoutCancel(ctx), b.Run, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// settledElsewhere journals the word in the other run. Where that fails now, the next run of the thread does it.
func (d *driver) settledElsewhere(ctx context.Context, b recovery.CallRuled) {
	if err := d.h.takeRulings(context.WithoutCancel(ctx), b.Run); err != nil {
		d.h.warn(d.state.Created.Run, "pass the word on to run %s: %v (it is kept)", b.Run, err)
	}
}
