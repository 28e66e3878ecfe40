package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agent/db"
	"agent/db/family"
	"agent/host/drive/lineage"
	"agent/host/owner"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools/ofd"
)

// The kinds of inbox rows.
const (
	InboxCancel     = "cancel"
	InboxTell       = "tell"
	inboxResolution = "resolution"
)

// inbox is what other processes leave for the owner of the run.
type inbox struct {
	*recorder
	policy *policy
	waker  *stream.Subscription
	passed []journal.CallResolved // decisions about calls of other runs that were left for this one
	heard  []db.InboxRow          // what persons say to the model, until it can be added
	waits  bool                   // a decision on a call that has no outcome yet was seen
}

// readInbox takes what other processes left for the owner: a cancel, a decision on an unknown call,
// a message for the model. Each row is taken in the commit that journals it. It comes with every
// hint that the database changed, so whether it is still there is looked at too.
func (in *inbox) readInbox(ctx context.Context) error {
	if err := in.present(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a shutdown at this moment is looked at next, and is no failure
	rows, err := in.p.Store.Inbox(ctx, in.state.Created.Run)
	if err != nil {
		return err
	}
	for _, r := range rows {
		early := in.early(r)
		if in.waits = in.waits || early; early || in.taken(r.ID) {
			continue
		}
		if r.Kind == InboxTell && !in.state.Created.Authored {
			in.heard = append(in.heard, r)
			continue
		}
		in.consume = append(in.consume, r.ID)
		if err := in.take(ctx, r); err != nil {
			in.refused = append(in.refused, r.ID)
			in.p.Warn(in.state.Created.Run, "%v", err)
		}
	}
	return nil
}

func (in *inbox) taken(id int64) bool {
	return slices.Contains(in.consume, id) || slices.ContainsFunc(in.heard, func(r db.InboxRow) bool { return r.ID == id })
}

// early says whether a row is a decision on a call that has no outcome yet: whoever stopped it has
// decided already. It waits in the inbox.
func (in *inbox) early(r db.InboxRow) bool {
	if r.Kind != inboxResolution {
		return false
	}
	b, err := decodeResolution(r)
	if err != nil || b.Run != "" && b.Run != in.state.Created.Run {
		return false
	}
	c, err := in.state.Call(b.Place)
	return err == nil && c.Phase == journal.PhaseStarted
}

// add gives what persons say to the model, once, with the next request: no request is under way
// when this is called.
func (in *inbox) add() {
	if len(in.heard) == 0 || !recovery.Hears(in.state) {
		return
	}
	for _, r := range in.heard {
		in.consume = append(in.consume, r.ID)
		b, err := decodeMessage(r)
		if err != nil {
			in.refused = append(in.refused, r.ID)
			in.p.Warn(in.state.Created.Run, "%v", err)
			continue
		}
		in.record(b)
	}
	in.heard = nil
}

// decodeMessage is the fact that a message for the model becomes.
func decodeMessage(r db.InboxRow) (journal.MessageAdded, error) {
	var b journal.MessageAdded
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return b, fmt.Errorf("inbox row %d: %v", r.ID, err)
	}
	b.By = r.By
	return b, nil
}

func (in *inbox) take(ctx context.Context, r db.InboxRow) error {
	switch r.Kind {
	case InboxCancel:
		return in.cancelled(ctx, r.By)
	case InboxTell:
		return fmt.Errorf("a message for run %s: its steps were written before it began, and no model reads one", in.state.Created.Run)
	case inboxResolution:
		body, err := decodeResolution(r)
		if err != nil {
			return err
		}
		if body.Run != "" && body.Run != in.state.Created.Run {
			in.passed = append(in.passed, body)
			in.record(body)
			return nil
		}
		c, err := in.state.Call(body.Place)
		if err == nil && body.Word == journal.WordLeave && !c.Unknown() {
			in.refused = append(in.refused, r.ID) // there is nothing that it could leave as it is
			return nil
		}
		if err != nil || !c.Resolvable(body.Word) {
			return fmt.Errorf("word on call %s: its outcome is not unknown (any more)", body.Place)
		}
		in.record(body)
		return nil
	}
	return fmt.Errorf("inbox row %d: kind %q is not known", r.ID, r.Kind)
}

func decodeResolution(r db.InboxRow) (journal.CallResolved, error) {
	var b journal.CallResolved
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return b, fmt.Errorf("inbox row %d: %v", r.ID, err)
	}
	return b, nil
}

// PutOwnResolution leaves a decision about a call of the run itself for its owner.
func PutOwnResolution(ctx context.Context, p *Process, run string, r journal.CallResolved) (int64, error) {
	r.Run = ""
	return PutResolution(ctx, p, run, r)
}

// PutResolution leaves a decision for the owner of a run; it may be about a call of another run of
// the thread.
func PutResolution(ctx context.Context, p *Process, run string, r journal.CallResolved) (int64, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encode word on call %s of run %s: %v", r.Place, run, err)
	}
	return p.Store.PutInbox(ctx, run, inboxResolution, body, r.By)
}

// TakeResolutions journals words on unknown calls of a run that nobody drives. A word that an
// earlier one made needless is let go with a warning, unless it is the one numbered own, whose
// caller looks what became of it.
func TakeResolutions(ctx context.Context, p *Process, run string, own int64) error {
	return Holding(p, run, func(lock *ofd.File) error { return takeResolutionsUnder(ctx, p, lock, run, own) })
}

func takeResolutionsUnder(ctx context.Context, p *Process, lock *ofd.File, run string, own int64) error {
	head, err := p.Store.Head(ctx, run)
	if err != nil {
		return err
	}
	s, err := p.Reader().Alone(run, p.Reader().Restored(ctx, ignoreLost)) // nothing of it goes to a model
	if err != nil {
		return err
	}
	d, err := p.newDriver(s, head, lock)
	if err != nil {
		return err
	}
	defer d.close()
	rows, err := p.Store.Inbox(ctx, run)
	for _, r := range rows {
		if r.Kind == inboxResolution && err == nil && !d.inbox.early(r) {
			d.consume = append(d.consume, r.ID)
			if refused := d.inbox.take(ctx, r); refused != nil {
				d.refused = append(d.refused, r.ID)
				if r.ID != own {
					p.Warn(run, "%v", refused)
				}
			}
		}
	}
	if err = errors.Join(err, d.calls.flush(ctx)); err != nil {
		return err
	}
	return d.closeSuperseded(ctx)
}

// dropRefused takes from the inbox what no fact follows from, when there is no fact to take it
// with.
func (in *inbox) dropRefused(ctx context.Context) error {
	if len(in.refused) == 0 {
		return nil
	}
	if err := in.p.Store.DropMessages(context.WithoutCancel(ctx), in.head, in.refused); err != nil {
		return err
	}
	in.consume = slices.DeleteFunc(in.consume, func(id int64) bool { return slices.Contains(in.refused, id) })
	in.refused = nil
	return nil
}

// TakeThreadResolutions brings home words on calls of other runs of a run's lineage that a process
// which ended had no time to.
func TakeThreadResolutions(ctx context.Context, p *Process, c journal.RunCreated) error {
	threads, err := lineage.Threads(ctx, p.Store, c)
	if err != nil {
		return err
	}
	var rows []db.RunRow
	for _, t := range threads {
		found, err := family.WithResolutions(ctx, p.Store, t, c.Run)
		if err != nil {
			return err
		}
		rows = append(rows, found...)
	}
	for _, row := range rows {
		inbox, err := p.Store.Inbox(ctx, row.ID)
		if err != nil {
			return err
		}
		var held *owner.HeldError
		if len(inbox) > 0 {
			if err := TakeResolutions(ctx, p, row.ID, 0); err != nil && !errors.As(err, &held) {
				return err
			}
		}
	}
	return nil
}

// settleElsewhere puts a person's decision on a call of another run into that run's inbox before
// the fact here is durable: the answer is on record already, so if this process ends in between, it
// is taken again and nothing is lost.
func (in *inbox) settleElsewhere(ctx context.Context) error {
	for _, f := range in.facts {
		if b, ok := f.Body.(journal.CallResolved); ok && b.Run != "" && !in.cameFromThere(b) {
			if _, err := PutOwnResolution(context.WithoutCancel(ctx), in.p, b.Run, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// settledElsewhere journals the word in the other run. Where that fails now, the next run of the
// thread does it.
func (in *inbox) settledElsewhere(ctx context.Context, b journal.CallResolved) {
	err := TakeResolutions(context.WithoutCancel(ctx), in.p, b.Run, 0)
	var p *PanicError
	if errors.As(err, &p) {
		panic(p)
	}
	if err != nil {
		in.p.Warn(in.state.Created.Run, "pass the decision on to run %s: %v (it is kept)", b.Run, err)
	}
}

// closeSuperseded ends the question of the twin guard of a run that nobody drives, where what
// became of the first call answers it. An answer that somebody gave at the same moment stands.
func (d *driver) closeSuperseded(ctx context.Context) error {
	end, ok := recovery.Superseded(d.state)
	if !ok || d.state.Status != recovery.StatusWaiting || d.dead != nil {
		return nil
	}
	d.record(end, journal.RunInterrupted{Cause: journal.CauseAnswered, Detail: end.Reason})
	err := d.calls.flush(ctx)
	if errors.As(err, new(*db.ConflictError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("close question %s: %w", end.ID, err)
	}
	return nil
}

// cameFromThere says whether a decision about another run's call came from that run, which has it
// already.
func (in *inbox) cameFromThere(b journal.CallResolved) bool { return slices.Contains(in.passed, b) }

// cancelled ends the run on a person's request. An answer that was given before is taken first: its
// row is closed already.
func (in *inbox) cancelled(ctx context.Context, by string) error {
	_, err := in.takeAnswer(ctx)
	if err == nil {
		in.stopFor(journal.StopCancelled, by, "cancelled by "+by)
	}
	return err
}

// takeAnswer consumes the answer that stands in the request's row, whoever gave it.
func (in *inbox) takeAnswer(ctx context.Context) (bool, error) {
	row, err := in.p.Store.AnswerFor(context.WithoutCancel(ctx), in.state.Created.Run)
	if err != nil || row == nil {
		return false, err
	}
	if in.state.Open == nil || in.state.Open.ID != row.ID {
		return false, nil
	}
	in.policy.stale = in.policy.stale || addsRules(*in.state.Open, row.Answer)
	in.record(answerFact(*row))
	return true, nil
}

// answerFact is the fact that a settled request row becomes.
func answerFact(row db.PendingRow) journal.Body {
	if row.Status == "resolved" {
		return journal.RequestAnswered{ID: row.ID, Answer: row.Answer, By: row.By, Mode: recovery.LoosenedBy(row.Request.Kind, row.Answer)}
	}
	reason := "nobody answered in time"
	if row.Status == "cancelled" {
		reason = fmt.Sprintf("the question was withdrawn by %s", row.By)
	}
	return journal.RequestClosed{ID: row.ID, Status: row.Status, Reason: reason}
}
