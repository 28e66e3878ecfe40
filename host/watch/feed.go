package watch

import (
	"context"
	"sync"
	"time"

	"agent/db"
	"agent/host/stream"
)

const (
	mostLines  = 256       // that an observer gets at once
	mostBytes  = 256 << 10 // of their JSON, shared by all who are as far
	aloneBytes = 16 << 10  // of the JSON of facts that are read for one observer: a slow one keeps them all the while
	keptBytes  = 1 << 20   // of facts that a feed keeps
	frameEvery = 20 * time.Millisecond
	eachAdds   = 100 * time.Microsecond // to the time between two looks, for each observer
)

// Feed is one run as observers see it. Its methods may be called by any goroutine, each with a
// cursor of its own.
type Feed struct {
	w     *Watcher
	run   string
	file  *stream.LiveReader
	hints chan struct{}
	ctx   context.Context
	stop  context.CancelFunc

	mu        sync.Mutex
	changed   chan struct{} // closed when there is something new
	observers int
	gone      bool // ended: nobody may join any more
	closing   *time.Timer
	err       error  // ended it
	liveErr   error  // why there is no live text and output
	seq       int64  // of the last fact that was read
	sum       string // the cursor's digits there
	window    []Line
	size      int // bytes of the window's JSON
	state     Line
	stateNo   int64
	parent    bool // there are runs below it, or may be
	over      bool // the run has ended and all of its facts were read
	live      live
	shared    any // made by Shared
}

// newFeed reads where a run stands: nothing of what was before is kept but what the last turn's
// live text depends on.
func newFeed(ctx context.Context, w *Watcher, run string) (*Feed, error) {
	h, err := headOf(ctx, w.o.Store, run) // first: what has no journal may be no name of a file either
	if err != nil {
		return nil, err
	}
	file, err := stream.NewLiveReader(w.o.Live, run)
	if err != nil {
		return nil, err
	}
	f := &Feed{w: w, run: run, file: file, hints: make(chan struct{}, 1), changed: make(chan struct{}), seq: h.Seq, sum: sumOf(h.Digest), live: newLive()}
	if err := f.lastTurn(ctx); err != nil {
		return nil, err
	}
	f.ctx, f.stop = context.WithCancel(w.ctx)
	if err := f.look(); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

// lastTurn takes in what the facts of the newest turn replaced.
func (f *Feed) lastTurn(ctx context.Context) error {
	for upto := f.seq; upto > 0; {
		first := max(0, upto-mostLines)
		began, err := f.replaced(ctx, first, upto)
		if err != nil || began < f.live.turn {
			return err
		}
		upto = first
	}
	return nil
}

// replaced takes in the facts after the one numbered first, up to the one numbered last, of the
// newest turn there, and returns the turn of the first of them.
func (f *Feed) replaced(ctx context.Context, first, last int64) (turn int, err error) {
	for at := first; at < last; {
		page, err := db.Page(ctx, f.w.o.Store, f.run, at, int(last-at), mostBytes)
		if err != nil {
			return 0, err
		}
		if len(page) == 0 {
			return 0, missing(f.w.o.Store, f.run, at+1)
		}
		if at == first {
			turn = page[0].Turn
		}
		for i := range page {
			if page[i].Turn >= f.live.turn {
				f.live.fact(&page[i].Event)
				f.parent = f.parent || makes(page[i].Body)
			}
		}
		at = page[len(page)-1].Seq
	}
	return turn, nil
}

// Notice says why live text and output are not shown; nil where they are. Facts have all of it once
// it is whole.
func (f *Feed) Notice() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.liveErr
}

// Shared is what the observers of a feed have in common beside it: the first of them makes it, and
// it goes with the feed.
func (f *Feed) Shared(first func() any) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared == nil {
		f.shared = first()
	}
	return f.shared
}

// join counts an observer; false where the feed has ended.
func (f *Feed) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return false
	}
	f.observers++
	if f.closing != nil {
		f.closing.Stop()
		f.closing = nil
	}
	return true
}

// Close says that an observer leaves; each of them calls it once. The feed stays for a while: a
// connection that broke comes back.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observers--
	if f.observers == 0 && !f.gone {
		f.closing = time.AfterFunc(f.w.linger, f.leave)
	}
}

// leave ends a feed that nobody observes.
func (f *Feed) leave() {
	f.mu.Lock()
	f.gone = f.observers == 0
	gone := f.gone
	f.mu.Unlock()
	if gone {
		f.stop()
	}
}

func (f *Feed) hint() { hint(f.hints) }

// work looks whenever something may be new, until nobody observes the run any more or it cannot be
// read.
func (f *Feed) work() {
	defer f.w.remove(f)
	defer f.stop()
	for {
		select {
		case <-f.hints:
		case <-f.ctx.Done():
			f.end(ErrClosed)
			return
		}
		if err := f.look(); f.ctx.Err() != nil {
			f.end(ErrClosed)
			return
		} else if err != nil {
			f.end(err)
			return
		}
		select {
		case <-time.After(f.pace()):
		case <-f.ctx.Done():
		}
	}
}

// pace is the time between two looks: the more observers, the fewer and larger frames.
func (f *Feed) pace() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(frameEvery, time.Duration(f.observers)*eachAdds)
}

// check says whether the journal is the one that was read: *CursorError where the database was put
// back from a copy. Who observes comes back then, and is refused with its cursor.
func (f *Feed) check(ctx context.Context) error {
	f.mu.Lock()
	c := &Cursor{seq: f.seq, sum: f.sum}
	f.mu.Unlock()
	return c.Check(ctx, f.w.o.Store, f.run)
}

func (f *Feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.gone = err, true
	f.news()
}

// news wakes who waits. It wants f.mu.
func (f *Feed) news() {
	close(f.changed)
	f.changed = make(chan struct{})
}
