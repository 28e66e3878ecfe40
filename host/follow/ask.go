package follow

import (
	"context"
	"slices"
	"time"

	"agent/host/stream"
	"agent/host/watch"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Asker puts a question of a run to the person who watches, and sees that the answer is taken. It
// ends with its context: the question was answered elsewhere, or nobody watches any more. left says
// that the person left the question open.
type Asker func(ctx context.Context, run string, r journal.Request) (left bool, err error)

// asked is what an Asker came back with.
type asked struct {
	left bool
	err  error
}

// ask puts a question to the person, and reads on meanwhile what the run's record says of it. What
// came meanwhile is shown behind it. It says whether the watching is over.
func (f *Follower) ask(ctx context.Context, run string, r journal.Request) (over bool, err error) {
	asking, withdraw := context.WithCancel(ctx)
	defer withdraw()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	if r.Expires != nil {
		late := time.AfterFunc(r.Expires.Sub(fault.Now()), stop)
		defer late.Stop()
	}
	got := make(chan asked, 1)
	go func() {
		defer stop()
		left, err := f.alone(asking, run, r)
		got <- asked{left, err}
	}()
	var came []func()
	for reading.Err() == nil {
		lines, err := f.tail.Feed.Next(reading, &f.cursor)
		if err != nil {
			withdraw() // nothing comes any more, or it is over: what follows is seen by the next look
			break
		}
		var below []stream.Event
		if heard(lines) {
			below, err = f.below(ctx)
		}
		came = append(came, func() { f.show(ctx, lines, below) })
		if err != nil {
			withdraw() // likewise
			break
		}
		if slices.ContainsFunc(lines, func(l watch.Line) bool { return l.Fact != nil && closes(l.Fact.Body, r.ID) }) ||
			slices.ContainsFunc(below, func(e stream.Event) bool { return closes(e.Fact.Body, r.ID) }) {
			withdraw()
			break
		}
	}
	a := <-got
	if a.err != nil && asking.Err() == nil {
		return true, a.err
	}
	expired := r.Expires != nil && !fault.Now().Before(*r.Expires)
	if expired {
		if err := f.tail.mark(ctx); err != nil { // where nobody drives the run, nobody else closes the question
			return true, err
		}
	}
	f.tail.owned = f.tail.owned || !a.left && !expired // it goes on, though what came meanwhile may not know that yet
	for _, show := range came {
		show()
	}
	return a.left || ctx.Err() != nil, nil
}

// alone puts the question while nothing else moves at the terminal: other runs may be at work.
func (f *Follower) alone(ctx context.Context, run string, r journal.Request) (left bool, err error) {
	release, err := f.r.Alone(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	return f.asker(ctx, run, r)
}

// closes says whether a question is over by a fact.
func closes(b journal.Body, id string) bool {
	switch b := b.(type) {
	case journal.RequestAnswered:
		return b.ID == id
	case journal.RequestClosed:
		return b.ID == id
	}
	return false
}
