package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agent/recovery"
)

// asking is a call that asks a person while it is under way, and the way back to it.
type asking struct {
	place    recovery.Place
	question recovery.Question
	reply    chan reply // takes one
	gone     <-chan struct{}
	id       string // of the request, once there is one
}

// errGaveUp is what a call gets that no longer waits.
var errGaveUp = errors.New("the question was closed without an answer")

// asker is tools.Call.Ask: it hands the question to the goroutine that drives the run, and waits.
func (d *driver) asker(place recovery.Place) func(context.Context, recovery.Question) (json.RawMessage, error) {
	if d.asks == nil {
		return nil // a look at the call, by a recovery or a plan
	}
	return func(ctx context.Context, q recovery.Question) (json.RawMessage, error) {
		q.Kind = recovery.RequestElicit
		a := &asking{place: place, question: q, reply: make(chan reply, 1), gone: ctx.Done()}
		select {
		case d.asks <- a:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		select {
		case got := <-a.reply:
			return got.answer, got.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// heard takes up the question of a call. It is opened once no other call is under way: a run has one open request, and
// nothing but the call that asks waits for it.
func (d *driver) heard(a *asking) {
	if d.asked != nil {
		a.reply <- reply{err: fmt.Errorf("call %s asks already; ask again when it has its answer", d.asked.place)}
		return
	}
	d.asked = a
}

// openAsked opens the question that was heard, when it may be.
func (d *driver) openAsked() bool {
	if d.asked == nil || d.asked.id != "" || len(d.flying) != 1 || d.state.Stopping != nil || d.state.Open != nil {
		return false
	}
	at := d.asked.place
	d.record(recovery.RequestOpened{Request: recovery.Request{Question: d.asked.question, Call: &at}})
	d.asked.id = d.state.Open.ID
	return true
}

// hushed forgets the question of a call that ended before it could be opened.
func (d *driver) hushed(at recovery.Place) {
	if d.asked != nil && d.asked.id == "" && d.asked.place.Index == at.Index {
		d.asked = nil
	}
}

// answeredAsked gives a call its answer, which is durable now.
func (d *driver) answeredAsked(id string, answer json.RawMessage, err error) {
	if d.asked == nil || d.asked.id != id {
		return // its call is gone
	}
	d.asked.reply <- reply{answer, err}
	d.asked = nil
}

// withdraw closes the question of a call that is under way, on the word of nobody.
func (d *driver) withdraw(reason string) {
	if r := d.state.Open; r != nil && r.Kind == recovery.RequestElicit {
		d.record(recovery.RequestClosed{ID: r.ID, Status: "cancelled", Reason: reason})
	}
}

// askDuring waits for the answer to a question of a call that is under way. Its tool may take the question back, or end.
func (d *driver) askDuring(ctx context.Context, r *recovery.Request) error {
	typed, stop := d.typing(ctx, r)
	defer stop()
	var gone <-chan struct{}
	if d.asked != nil {
		gone = d.asked.gone
	}
	for {
		var done bool
		var err error
		select {
		case got := <-typed:
			typed = nil // left open here, it can still be answered from elsewhere
			if done, err = d.typedHere(ctx, r, got); err == nil && !done && got.err != nil {
				d.p.Note(d.state.Created.Run, "the question stays open; answer it with: agent answer %s", r.ID)
			}
		case e := <-d.results:
			d.results <- e // it is settled behind the end of the question
			d.withdraw("the call that asked ended without the answer")
			return nil
		case <-gone:
			d.withdraw("the call that asked does not wait for the answer any longer")
			return nil
		case <-untilExpiry(r, d.now()):
			if _, err = d.p.Store.Expire(ctx); err == nil {
				done, err = d.takeAnswer(ctx)
			}
		case <-d.waker.C():
			if done, err = d.takeAnswer(ctx); err == nil && !done {
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

// typedHere takes what was typed at the terminal, if anything was.
func (d *driver) typedHere(ctx context.Context, r *recovery.Request, got reply) (bool, error) {
	err := d.answeredHere(ctx, r, got)
	if errors.Is(err, errLeave) {
		return false, nil
	}
	return err == nil, err
}
