package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agent/recovery/journal"
)

// asking is a call that asks a person while it is under way, and the way back to it.
type asking struct {
	place    journal.Place
	question journal.Question
	reply    chan reply // takes one
	gone     <-chan struct{}
	id       string // of the request, once there is one
}

// errGaveUp is what a call gets that no longer waits.
var errGaveUp = errors.New("the question was closed without an answer")

// elicits is what calls ask a person while they are under way.
type elicits struct {
	*recorder
	asks  chan *asking // from calls that are under way
	asked *asking      // the one that was heard
}

// asker is tools.Call.Ask: it hands the question to the goroutine that drives the run, and waits.
func (el *elicits) asker(place journal.Place) func(context.Context, journal.Question) (json.RawMessage, error) {
	if el.asks == nil {
		return nil // a look at the call, by a recovery or a plan
	}
	return func(ctx context.Context, q journal.Question) (json.RawMessage, error) {
		q.Kind = journal.RequestElicit
		a := &asking{place: place, question: q, reply: make(chan reply, 1), gone: ctx.Done()}
		select {
		case el.asks <- a:
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

// received takes up the question of a call. It is opened once no other call is under way: a run has
// one open request, and nothing but the call that asks waits for it.
func (el *elicits) received(a *asking) {
	if el.asked != nil {
		a.reply <- reply{err: fmt.Errorf("call %s asks already; ask again when it has its answer", el.asked.place)}
		return
	}
	el.asked = a
}

// openAsked opens the question that was heard, when it may be. alone says that no other call is
// under way.
func (el *elicits) openAsked(alone bool) bool {
	if el.asked == nil || el.asked.id != "" || !alone || el.state.Stopping != nil || el.state.Open != nil {
		return false
	}
	at := el.asked.place
	el.record(journal.RequestOpened{Request: journal.Request{Question: el.asked.question, Call: &at}})
	el.asked.id = el.state.Open.ID
	return true
}

// dropQuestion forgets the question of a call that ended before it could be opened.
func (el *elicits) dropQuestion(at journal.Place) {
	if el.asked != nil && el.asked.id == "" && el.asked.place.Index == at.Index {
		el.asked = nil
	}
}

// answeredAsked gives a call its answer, which is durable now.
func (el *elicits) answeredAsked(id string, answer json.RawMessage, err error) {
	if el.asked == nil || el.asked.id != id {
		return // its call is gone
	}
	el.asked.reply <- reply{answer, err}
	el.asked = nil
}

// withdraw closes the question of a call that is under way, on the word of nobody.
func (el *elicits) withdraw(reason string) {
	if r := el.state.Open; r != nil && r.Kind == journal.RequestElicit {
		el.record(journal.RequestClosed{ID: r.ID, Status: "cancelled", Reason: reason})
	}
}

// askDuring waits for the answer to a question of a call that is under way. Its tool may take the
// question back, or end.
func (qs *questions) askDuring(ctx context.Context, r *journal.Request) error {
	typed, stop := qs.typing(ctx, r)
	defer stop()
	var gone <-chan struct{}
	if qs.elicits.asked != nil {
		gone = qs.elicits.asked.gone
	}
	for {
		var done bool
		var err error
		select {
		case got := <-typed:
			typed = nil // left open here, it can still be answered from elsewhere
			if done, err = qs.typedHere(ctx, r, got); err == nil && !done && got.err != nil {
				qs.p.Note(qs.state.Created.Run, "the question stays open; answer it with: agent answer %s", r.ID)
			}
		case e := <-qs.calls.results:
			qs.calls.results <- e // it is settled behind the end of the question
			qs.elicits.withdraw("the call that asked ended without the answer")
			return nil
		case <-gone:
			qs.elicits.withdraw("the call that asked does not wait for the answer any longer")
			return nil
		case <-untilExpiry(r, qs.now()):
			if _, err = qs.p.Store.Expire(ctx); err == nil {
				done, err = qs.inbox.takeAnswer(ctx)
			}
		case <-qs.inbox.waker.C():
			if done, err = qs.inbox.takeAnswer(ctx); err == nil && !done {
				done, err = qs.stopped(ctx)
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
func (qs *questions) typedHere(ctx context.Context, r *journal.Request, got reply) (bool, error) {
	err := qs.answeredHere(ctx, r, got)
	if errors.Is(err, errLeave) {
		return false, nil
	}
	return err == nil, err
}
