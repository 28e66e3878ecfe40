package stream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agent/recovery/journal"
)

const (
	// liveDelay is how long output waits for more of it, and for the end of its call: the result of
	// a quick command needs no live file, which costs as much as a commit.
	liveDelay = 100 * time.Millisecond
	// liveWaiting is how much output waits, bytes; of more the newest.
	liveWaiting = 1 << 20
)

// LiveCopy copies the model's text and reasoning and the output of running calls into the run's
// live file as they come, for observers in other processes. It is an observer itself: what it gets
// passed the gate, so it holds no secret, and a slow disk never holds up the reader of the model's
// Losing it loses nothing: answer and result are facts.
type LiveCopy struct {
	dir, run string
	hub      *Hub
	file     *Live     // nil until there is something to write: to make a file costs as much as a commit
	waiting  []Event   // output that is not written yet
	since    time.Time // when the first of it came
	done     chan struct{}
	some     atomic.Bool // text or output came since the last answer

	mu     sync.Mutex
	obs    *Observer
	closed bool
}

// CopyLive begins to copy what is published of a run. What an earlier process left of it is
// dropped.
func CopyLive(dir, run string, hub *Hub) (*LiveCopy, error) {
	l := &LiveCopy{dir: dir, run: run, hub: hub, done: make(chan struct{})}
	if err := ClearLive(dir, run); err != nil {
		return nil, err
	}
	l.observe()
	go l.copy()
	return l, nil
}

// observe begins an observation, unless it is over.
func (l *LiveCopy) observe() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.obs = l.hub.ObserveOnly(l.wants, l.run)
	}
	return !l.closed
}

// wants says whether an event concerns the live file. A fact does only if it ends what was written
// since the last answer: most turns of quick calls wake nobody.
func (l *LiveCopy) wants(e *Event) bool {
	if e.Fact == nil {
		if e.Note == "" {
			l.some.Store(true)
		}
		return e.Note == ""
	}
	switch e.Fact.Body.(type) {
	case journal.ModelAnswered, journal.ModelFailed:
		return l.some.Swap(false)
	case journal.CallSettled:
		return l.some.Load()
	}
	return false
}

func (l *LiveCopy) copy() {
	defer close(l.done)
	for {
		e, err := l.next()
		switch {
		case err == nil:
			err = l.take(e)
		case errors.Is(err, context.DeadlineExceeded):
			err = l.flush()
		case errors.Is(err, ErrOverflow) && l.observe():
			// More was printed than could be written: what comes now is shown behind a gap.
			l.waiting = nil
			err = l.reset()
		}
		if err != nil {
			// Closed, or a disk that takes no live text, which keeps no facts either and is
			// reported where it matters.
			_ = l.flush()
			return
		}
	}
}

// next waits for the next event, and where output waits no longer than until it is due.
func (l *LiveCopy) next() (Event, error) {
	ctx := context.Background()
	if len(l.waiting) > 0 {
		limited, cancel := context.WithDeadline(ctx, l.since.Add(liveDelay))
		defer cancel()
		ctx = limited
	}
	return l.obs.Next(ctx)
}

// take writes a piece of an answer or of output, and empties the file behind the fact that the
// answer became or that says that there is none. They come in order.
func (l *LiveCopy) take(e Event) error {
	switch {
	case e.Fact != nil:
		switch b := e.Fact.Body.(type) {
		case journal.ModelAnswered, journal.ModelFailed:
			return l.reset()
		case journal.CallSettled:
			l.waiting = slices.DeleteFunc(l.waiting, func(w Event) bool { return *w.Call == b.Place })
		}
	case e.Text != "", e.Reasoning != "":
		return l.write(e)
	case e.Call != nil:
		l.wait(e)
	case e.Void:
		return l.reset()
	}
	return nil
}

// wait keeps a piece of output until it is due.
func (l *LiveCopy) wait(e Event) {
	if len(l.waiting) == 0 {
		l.since = time.Now()
	}
	if n := len(l.waiting); n > 0 {
		if last := &l.waiting[n-1]; *last.Call == *e.Call && last.At+int64(len(last.Output)) == e.At {
			last.Output = append(last.Output, e.Output...)
			e = *last
			l.waiting = l.waiting[:n-1]
		}
	}
	if most := liveWaiting / 2; len(e.Output) > most {
		gone := len(e.Output) - most
		e.At, e.Output = e.At+int64(gone), slices.Clone(e.Output[gone:])
	}
	l.waiting = append(l.waiting, e)
	size := 0
	for i, w := range slices.Backward(l.waiting) {
		if size += len(w.Output); size > liveWaiting {
			l.waiting = slices.Delete(l.waiting, 0, i+1)
			return
		}
	}
}

// flush writes the output that waits.
func (l *LiveCopy) flush() error {
	waiting := l.waiting
	l.waiting = nil
	for _, e := range waiting {
		if err := l.write(e); err != nil {
			return err
		}
	}
	return nil
}

func (l *LiveCopy) write(e Event) error {
	if l.file == nil {
		f, err := OpenLive(l.dir, l.run)
		if err != nil {
			return err
		}
		l.file = f
	}
	switch {
	case e.Call != nil:
		return l.file.Output(*e.Call, e.At, e.Output)
	case e.Text != "":
		return l.file.Text(e.Turn, e.Text)
	}
	return l.file.Reasoning(e.Turn, e.Reasoning)
}

func (l *LiveCopy) reset() error {
	if l.file == nil {
		return nil
	}
	return l.file.Reset()
}

// Close ends the copying. It does nothing on nil.
func (l *LiveCopy) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.obs.Close()
	l.mu.Unlock()
	<-l.done
	if l.file != nil {
		_ = l.file.Close() // nothing durable is in it
	}
}
