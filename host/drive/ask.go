package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/recovery"
)

// ask makes the open question durable and waits for its answer where somebody can give it here; otherwise the run waits
// without a process.
func (d *driver) ask(ctx context.Context, r *recovery.Request) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	if done, err := d.takeAnswer(ctx); done || err != nil {
		return err
	}
	if expired(r, d.now()) {
		d.record(recovery.RequestClosed{ID: r.ID, Status: "expired", Reason: "nobody answered in time"})
		return nil
	}
	if r.Kind == recovery.RequestElicit {
		return d.askDuring(ctx, r)
	}
	if d.env.Ask == nil {
		return errLeave
	}
	return d.askHere(ctx, r)
}

func expired(r *recovery.Request, now time.Time) bool {
	return r.Expires != nil && !now.Before(*r.Expires)
}

type reply struct {
	answer json.RawMessage
	err    error
}

// askHere puts the question to the terminal and watches for an answer from elsewhere meanwhile.
func (d *driver) askHere(ctx context.Context, r *recovery.Request) error {
	typed, restore := d.typing(ctx, r)
	defer restore() // before anything else is shown
	for {
		var done bool
		var err error
		select {
		case got := <-typed:
			return d.answeredHere(ctx, r, got)
		case <-untilExpiry(r, d.now()):
			if _, err = d.p.Store.Expire(ctx); err == nil {
				done, err = d.takeAnswer(ctx)
			}
		case <-d.waker.C():
			done, err = d.takeAnswer(ctx)
			if err == nil && !done {
				done, err = d.stopped(ctx)
			}
		case <-ctx.Done():
			done = true
		}
		if done || err != nil {
			return err
		}
	}
}

// typing puts the question to the terminal, if there is one. stop ends that, and returns when the terminal is restored.
func (d *driver) typing(ctx context.Context, r *recovery.Request) (<-chan reply, func()) {
	if d.env.Ask == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	typed, over := make(chan reply, 1), make(chan struct{})
	run, question := d.state.Created.Run, db.Cleaned(d.p.Store, *r)
	go func() {
		defer close(over)
		var a json.RawMessage
		err := caught(run, func() (err error) {
			a, err = d.env.Ask(ctx, run, question)
			return err
		})
		typed <- reply{a, err}
	}()
	return typed, func() { cancel(); <-over }
}

// untilExpiry fires when the question's time is over; never without one. The clock may be set meanwhile: it is asked for anew
// whenever something happened, and when it fires the clock has the last word.
func untilExpiry(r *recovery.Request, now time.Time) <-chan time.Time {
	if r.Expires == nil {
		return nil
	}
	return time.After(r.Expires.Sub(now) + time.Millisecond)
}

// stopped reads the inbox while a question stands. It says whether something came that is to be recorded at once: the end of the run, or a
// decision about a call that may answer the question.
func (d *driver) stopped(ctx context.Context) (bool, error) {
	err := d.readInbox(ctx)
	return d.state.Stopping != nil || len(d.facts) > 0, err
}

// answeredHere records what was typed, first come, first served.
func (d *driver) answeredHere(ctx context.Context, r *recovery.Request, got reply) error {
	if p, ok := got.err.(*PanicError); ok {
		panic(p)
	}
	switch {
	case errors.Is(got.err, ErrLeftOpen):
		return errLeave
	case got.err != nil && ctx.Err() != nil:
		return nil
	case got.err != nil:
		d.p.Warn(d.state.Created.Run, "ask at the terminal: %v", got.err)
		return errLeave
	}
	_, err := d.p.Store.Answer(ctx, r.ID, got.answer, d.p.Who)
	var conflict *db.ConflictError
	var late *db.ExpiredError
	if errors.As(err, &conflict) || errors.As(err, &late) {
		d.p.Note(d.state.Created.Run, "%v", err)
	} else if err != nil {
		return err
	} else {
		d.p.Stood(d.env, d.state.Created.Run, *r, got.answer)
	}
	_, err = d.takeAnswer(ctx)
	return err
}

// takeAnswer consumes the answer that stands in the request's row, whoever gave it.
func (d *driver) takeAnswer(ctx context.Context) (bool, error) {
	row, err := d.p.Store.AnswerFor(context.WithoutCancel(ctx), d.state.Created.Run)
	if err != nil || row == nil {
		return false, err
	}
	if d.state.Open == nil || d.state.Open.ID != row.ID {
		return false, nil
	}
	d.stands = d.stands || stands(*d.state.Open, row.Answer)
	d.record(answerFact(*row))
	return true, nil
}

// answerFact is the fact that a settled request row becomes.
func answerFact(row db.PendingRow) recovery.Body {
	if row.Status == "resolved" {
		return recovery.RequestAnswered{ID: row.ID, Answer: row.Answer, By: row.By}
	}
	reason := "nobody answered in time"
	if row.Status == "cancelled" {
		reason = fmt.Sprintf("the question was withdrawn by %s", row.By)
	}
	return recovery.RequestClosed{ID: row.ID, Status: row.Status, Reason: reason}
}
