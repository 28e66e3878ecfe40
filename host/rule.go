package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agent/db"
	"agent/host/owner"
	"agent/host/stream"
	"agent/recovery"
	"agent/tools"
	"agent/tools/ofd"
)

// ResolvedError says that a person said already that a call of unknown outcome happened, which is the last word on it.
type ResolvedError struct {
	Call string
	By   string
	At   time.Time
}

func (e *ResolvedError) Error() string {
	by := e.By
	if by == "" {
		by = "someone"
	}
	return fmt.Sprintf("answer %s: %s decided already that it happened, on %s", e.Call, by, e.At.Local().Format(time.DateTime))
}

// Rule records a person's word on a call whose outcome is unknown, in whatever status its run is, without a model. It
// returns once the word is in the journal, or says that it is kept for the process that drives the run. When somebody said
// first that the call happened, it is a *ResolvedError, and the word is let go.
func (h *Host) Rule(ctx context.Context, c db.CallRow, w recovery.Word) error {
	before, err := h.Store.Head(ctx, c.Run)
	if err != nil {
		return err
	}
	word := recovery.CallResolved{Place: recovery.Place{Turn: c.Turn, Index: c.Index}, Word: w, By: h.Who}
	id, err := h.putOwnResolution(ctx, c.Run, word)
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
	for lost := 1; ; {
		err := h.takeResolutions(ctx, c.Run, id)
		waiting, inboxErr := h.inInbox(ctx, c.Run, id)
		var held *owner.HeldError
		switch {
		case inboxErr != nil:
			return errors.Join(err, inboxErr)
		case !waiting:
			return errors.Join(notHeld(err), h.holds(ctx, c, word, before.Seq))
		case errors.Is(err, db.ErrLostRace) && lost < claimTries: // a look marked the run meanwhile
			lost++
			continue
		case !errors.As(err, &held):
			return err
		}
		select {
		case <-wake.C():
		case <-wait.Done():
			return fmt.Errorf("settle call %s: the decision is kept, and %s has not taken it yet", c.ID, held.Holder)
		}
	}
}

// notHeld leaves out that somebody else drives the run: the word is no longer waiting for anybody.
func notHeld(err error) error {
	if errors.As(err, new(*owner.HeldError)) {
		return nil
	}
	return err
}

// holds looks whether a word that waits no longer is in the journal after the fact numbered from. It is not where a person
// said first that the call happened.
func (h *Host) holds(ctx context.Context, c db.CallRow, word recovery.CallResolved, from int64) error {
	var first *ResolvedError
	for e, err := range h.Store.Load(ctx, c.Run, 0) {
		if err != nil {
			return err
		}
		b, ok := e.Body.(recovery.CallResolved)
		if !ok || b.Run != "" || b.Turn != word.Turn || b.Index != word.Index {
			continue
		}
		if e.Seq > from && b.Word == word.Word && b.By == word.By {
			return nil
		}
		if b.Word == recovery.WordHappened {
			first = &ResolvedError{Call: c.ID, By: b.By, At: e.Time}
		}
	}
	if first == nil {
		return fmt.Errorf("answer %s: the decision was not taken, and no other one is on record; give it again", c.ID)
	}
	return first
}

// Resolved is the conflict in which another word on a call of unknown outcome ends; nil where there is room for one.
func (h *Host) Resolved(ctx context.Context, c db.CallRow) error {
	if c.Resolved != recovery.WordHappened {
		return nil
	}
	return h.holds(ctx, c, recovery.CallResolved{Place: recovery.Place{Turn: c.Turn, Index: c.Index}}, 0)
}

func (h *Host) putOwnResolution(ctx context.Context, run string, r recovery.CallResolved) (int64, error) {
	r.Run = ""
	return h.putResolution(ctx, run, r)
}

// putResolution leaves a decision for the owner of a run; it may be about a call of another run of the thread.
func (h *Host) putResolution(ctx context.Context, run string, r recovery.CallResolved) (int64, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode word on call %s of run %s: %v", r.Place, run, err)
	}
	return h.Store.PutInbox(ctx, run, inboxResolution, body, r.By)
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

// takeResolutions journals words on unknown calls of a run that nobody drives. A word that an earlier one made needless is let
// go with a warning, unless it is the one numbered own, whose caller looks what became of it.
func (h *Host) takeResolutions(ctx context.Context, run string, own int64) error {
	return h.holding(run, func(lock *ofd.File) error { return h.takeResolutionsUnder(ctx, lock, run, own) })
}

func (h *Host) takeResolutionsUnder(ctx context.Context, lock *ofd.File, run string, own int64) error {
	head, err := h.Store.Head(ctx, run)
	if err != nil {
		return err
	}
	s, err := h.fold(run, h.restored(ctx, ignoreLost), nil) // nothing of it goes to a model
	if err != nil {
		return err
	}
	d, err := h.newDriver(s, head, lock)
	if err != nil {
		return err
	}
	defer d.close()
	rows, err := h.Store.Inbox(ctx, run)
	for _, r := range rows {
		if r.Kind == inboxResolution && err == nil {
			d.consume = append(d.consume, r.ID)
			if refused := d.take(ctx, r); refused != nil {
				d.refused = append(d.refused, r.ID)
				if r.ID != own {
					h.warn(run, "%v", refused)
				}
			}
		}
	}
	if err = errors.Join(err, d.flush(ctx)); err != nil {
		return err
	}
	return d.closeSuperseded(ctx)
}

// dropRefused takes from the inbox what no fact follows from, when there is no fact to take it with.
func (d *driver) dropRefused(ctx context.Context) error {
	if len(d.refused) == 0 {
		return nil
	}
	if err := d.h.Store.DropMessages(context.WithoutCancel(ctx), d.head, d.refused); err != nil {
		return err
	}
	d.consume = slices.DeleteFunc(d.consume, func(id int64) bool { return slices.Contains(d.refused, id) })
	d.refused = nil
	return nil
}

// takeThreadResolutions brings home words on calls of a thread's earlier runs that a process which ended had no time to.
func (h *Host) takeThreadResolutions(ctx context.Context, thread, except string) error {
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
		var held *owner.HeldError
		if len(inbox) > 0 {
			if err := h.takeResolutions(ctx, row.ID, 0); err != nil && !errors.As(err, &held) {
				return err
			}
		}
	}
	return nil
}

// gone looks again for the call that a question calls possibly running, at the moment when it is to be asked. It returns the
// fact that nothing of it runs any more; nil when that is not so, or cannot be told.
func (j judge) gone(ctx context.Context, s *recovery.State, facts []recovery.Body) recovery.Body {
	o, ok := facts[len(facts)-1].(recovery.RequestOpened)
	if !ok {
		return nil
	}
	u, ok := s.MayLive(o.Request.Question)
	if !ok {
		return nil
	}
	t, err := j.tools.Get(u.Tool)
	a, ok := t.(tools.Attacher)
	if err != nil || !ok {
		return nil
	}
	trace, err := j.trace(ctx, s, u)
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
	return h.Store.Trace(context.WithoutCancel(ctx), u.ID)
}

// settleElsewhere puts a person's word on a call of another run into that run's inbox before the fact here is durable:
// the answer is on record already, so if this process ends in between, it is taken again and nothing is lost.
func (d *driver) settleElsewhere(ctx context.Context) error {
	for _, f := range d.facts {
		if b, ok := f.Body.(recovery.CallResolved); ok && b.Run != "" && !d.cameFromThere(b) {
			if _, err := d.h.putOwnResolution(context.WithoutCancel(ctx), b.Run, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// settledElsewhere journals the word in the other run. Where that fails now, the next run of the thread does it.
func (d *driver) settledElsewhere(ctx context.Context, b recovery.CallResolved) {
	err := d.h.takeResolutions(context.WithoutCancel(ctx), b.Run, 0)
	var p *PanicError
	if errors.As(err, &p) {
		panic(p)
	}
	if err != nil {
		d.h.warn(d.state.Created.Run, "pass the decision on to run %s: %v (it is kept)", b.Run, err)
	}
}
