package drive

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agent/db"
	"agent/recovery/journal"
)

// questions is what a person is asked.
type questions struct {
	*recorder
	policy  *policy
	inbox   *inbox
	elicits *elicits
	calls   *caller
}

// ask makes the open question durable and waits for its answer where somebody can give it here;
// otherwise the run waits without a process. Step 5.
func (qs *questions) ask(ctx context.Context, r *journal.Request) error {
	if err := qs.calls.flush(ctx); err != nil {
		return err
	}
	if done, err := qs.inbox.takeAnswer(ctx); done || err != nil {
		return err
	}
	if expired(r, qs.now()) {
		qs.record(journal.RequestClosed{ID: r.ID, Status: "expired", Reason: "nobody answered in time"})
		return nil
	}
	if r.Kind == journal.RequestElicit {
		return qs.askDuring(ctx, r)
	}
	if !qs.listens() {
		return errLeave
	}
	return qs.askHere(ctx, r)
}

// listens says whether this process waits for an answer: one that asks somebody, or is the run's
// own. A run with a witness is left at once: its answer comes from wherever the fleet is asked, and
// brings a driver along. Thousands may wait on a machine, where nothing would bound how many
// processes and servers that keeps.
func (qs *questions) listens() bool {
	return qs.env.Ask != nil || qs.p.Detached && qs.state.Created.Witness == ""
}

// How long a process of the run's own waits for an answer: to end and to be started again costs a
// moment, and with MCP servers, which end and start with it, seconds.
const (
	patience            = time.Minute
	patienceWithServers = 10 * time.Minute
)

// late fires when such a process has waited long enough; never where somebody is asked here.
func (qs *questions) late() <-chan time.Time {
	switch {
	case qs.env.Ask != nil:
		return nil
	case len(qs.env.Servers) > 0:
		return time.After(patienceWithServers)
	}
	return time.After(patience)
}

func expired(r *journal.Request, now time.Time) bool {
	return r.Expires != nil && !now.Before(*r.Expires)
}

type reply struct {
	answer json.RawMessage
	err    error
}

// askHere puts the question to the terminal, where there is one, and watches for an answer from
// elsewhere meanwhile.
func (qs *questions) askHere(ctx context.Context, r *journal.Request) error {
	typed, restore := qs.typing(ctx, r)
	defer restore() // before anything else is shown
	late := qs.late()
	for {
		var done bool
		var err error
		select {
		case got := <-typed:
			return qs.answeredHere(ctx, r, got)
		case <-untilExpiry(r, qs.now()):
			if _, err = qs.p.Store.Expire(ctx); err == nil {
				done, err = qs.inbox.takeAnswer(ctx)
			}
		case <-qs.inbox.waker.C():
			done, err = qs.inbox.takeAnswer(ctx)
			if err == nil && !done {
				done, err = qs.stopped(ctx)
			}
		case <-late:
			return errLeave
		case <-ctx.Done():
			done = true
		}
		if done || err != nil {
			return err
		}
	}
}

// typing puts the question to the terminal, if there is one. stop ends that, and returns when the
// terminal is restored.
func (qs *questions) typing(ctx context.Context, r *journal.Request) (<-chan reply, func()) {
	if qs.env.Ask == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	typed, over := make(chan reply, 1), make(chan struct{})
	run, question := qs.state.Created.Run, db.RedactValue(qs.p.Store, *r)
	go func() {
		defer close(over)
		var a json.RawMessage
		err := Caught(run, func() (err error) {
			a, err = qs.env.Ask(ctx, run, question)
			return err
		})
		typed <- reply{a, err}
	}()
	return typed, func() { cancel(); <-over }
}

// untilExpiry fires when the question's time is over; never without one. The clock may be set
// meanwhile: it is asked for anew whenever something happened, and when it fires the clock has the
// last word.
func untilExpiry(r *journal.Request, now time.Time) <-chan time.Time {
	if r.Expires == nil {
		return nil
	}
	return time.After(r.Expires.Sub(now) + time.Millisecond)
}

// stopped reads the inbox while a question stands. It says whether something came that is to be
// recorded at once: the end of the run, or a decision about a call that may answer the question.
func (qs *questions) stopped(ctx context.Context) (bool, error) {
	err := qs.inbox.readInbox(ctx)
	return qs.state.Stopping != nil || len(qs.facts) > 0, err
}

// answeredHere records what was typed, first come, first served.
func (qs *questions) answeredHere(ctx context.Context, r *journal.Request, got reply) error {
	if p, ok := got.err.(*PanicError); ok {
		panic(p)
	}
	switch {
	case errors.Is(got.err, ErrLeftOpen):
		return errLeave
	case got.err != nil && ctx.Err() != nil:
		return nil
	case got.err != nil:
		qs.p.Warn(qs.state.Created.Run, "ask at the terminal: %v", got.err)
		return errLeave
	}
	_, err := qs.p.Store.Answer(ctx, r.ID, got.answer, qs.p.Who)
	var conflict *db.ConflictError
	var late *db.ExpiredError
	if errors.As(err, &conflict) || errors.As(err, &late) {
		qs.p.Note(qs.state.Created.Run, "%v", err)
	} else if err != nil {
		return err
	} else {
		SaveRules(qs.p, qs.env, qs.state.Created.Run, *r, got.answer)
	}
	_, err = qs.inbox.takeAnswer(ctx)
	return err
}
