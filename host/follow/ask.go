package follow

import (
	"context"
	"time"

	"agent/host/watch"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Asker puts a question to the person who watches, and sees to it that the answer is taken. It ends
// with its context: the question was answered elsewhere, or nobody watches any more. left says that
// the person left the question open.
type Asker func(ctx context.Context, r journal.Request) (left bool, err error)

// asked is what an Asker came back with.
type asked struct {
	left bool
	err  error
}

// ask puts a question to the person, and reads on meanwhile what the run's record says of it. What
// came meanwhile is shown behind it. It says whether the watching is over.
func (f *Follower) ask(ctx context.Context, r journal.Request) (over bool, err error) {
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
		left, err := f.asker(asking, r)
		got <- asked{left, err}
	}()
	var came []watch.Line
	for reading.Err() == nil {
		lines, err := f.tail.Feed.Next(reading, &f.cursor)
		if err != nil {
			withdraw() // nothing comes any more, or it is over: what follows is seen by the next look
			break
		}
		came = append(came, lines...)
		if closes(lines, r.ID) {
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
	for _, l := range came {
		f.line(ctx, l)
	}
	return a.left || ctx.Err() != nil, nil
}

// closes says whether a question is over by what lines say.
func closes(lines []watch.Line, id string) bool {
	for _, l := range lines {
		if l.Fact == nil {
			continue
		}
		switch b := l.Fact.Body.(type) {
		case journal.RequestAnswered:
			if b.ID == id {
				return true
			}
		case journal.RequestClosed:
			if b.ID == id {
				return true
			}
		}
	}
	return false
}
