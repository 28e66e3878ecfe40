// Package watch shows a run to whoever looks at it, from any process: its facts from the journal,
// and as state what is not durable yet, the text of the answer that is being given and the output
// of running commands, from the run's live file. It only reads.
//
// An observer is a [Cursor] and nothing else: there is no queue. It asks a [Feed] for what comes
// after its cursor, as often as it likes. The journal is the queue of facts, so none is lost and
// none comes twice. Text and output are state: a frame replaces what the observer has (Start) or
// continues it at an offset, and who is slow gets fewer and larger frames. An observer that stops
// asking costs its cursor.
//
// All observers of a run in one process share one feed, which reads what is new once. It keeps the
// newest facts, 1 MiB of them; who is further behind reads the journal itself.
package watch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"agent/db"
	"agent/host/stream"
)

// Options say what a Watcher reads.
type Options struct {
	Store *db.Store
	Live  string                         // folder of the live files
	Held  func(run string) (bool, error) // whether a process drives the run now; it must take nothing
	Poll  bool                           // look four times a second instead of waiting for file notification
}

// Watcher has the feeds of a process. It waits for two things only, changes of the database and
// changes in the folder of live files, however many runs it shows: the system allows a user few
// watches. Its methods may be called by any goroutine.
type Watcher struct {
	o       Options
	rows    *stream.Waker
	live    *stream.Waker
	readers chan struct{} // a place for each observer that reads the journal itself
	linger  time.Duration // how long a feed stays without observers
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	feeds map[string]*Feed
	hints map[chan struct{}]bool // of those who look at more than one run

	gens atomic.Int64 // of the last piece of live text that began
}

const (
	mostReaders = 8
	lingers     = 5 * time.Second
)

// ErrClosed says that the watcher was closed.
var ErrClosed = errors.New("watch: closed")

// New starts a watcher.
func New(o Options) (*Watcher, error) {
	rows, live, err := wakers(o)
	if err != nil {
		return nil, err
	}
	w := &Watcher{o: o, rows: rows, live: live, readers: make(chan struct{}, mostReaders), linger: lingers, feeds: map[string]*Feed{}, hints: map[chan struct{}]bool{}}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.running.Go(w.wake)
	return w, nil
}

func wakers(o Options) (rows, live *stream.Waker, err error) {
	if o.Poll {
		rows, err = stream.NewPollingWaker(o.Store.Files()...)
	} else {
		rows, err = stream.NewWaker(o.Store.Files()...)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.Poll {
		live, err = stream.NewPollingWaker(o.Live)
	} else {
		live, err = stream.NewFolderWaker(o.Live)
	}
	if err != nil {
		rows.Close()
		return nil, nil, err
	}
	return rows, live, nil
}

// wake has feeds look when something may be new for them.
func (w *Watcher) wake() {
	for {
		names, all, rows := map[string]bool{}, true, false
		select {
		case <-w.rows.C():
			rows = true
		case <-w.live.C():
			names, all = w.live.Changed()
		case <-w.ctx.Done():
			return
		}
		w.mu.Lock()
		for run, f := range w.feeds {
			if all || names[run] {
				f.hint()
			}
		}
		for c := range w.hints {
			if rows {
				hint(c)
			}
		}
		w.mu.Unlock()
	}
}

// Changes hints that something in the database may have changed, until stop. It is for who looks at
// more than one run.
func (w *Watcher) Changes() (hints <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hints[c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.hints, c)
	}
}

func hint(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is waiting already
	}
}

// Notice says why there is no file notification, where what changes is looked for four times a
// second instead; nil otherwise.
func (w *Watcher) Notice() error { return errors.Join(w.rows.Notice(), w.live.Notice()) }

// Close ends all feeds and waits for them. Closing again does nothing.
func (w *Watcher) Close() {
	w.mu.Lock() // no feed begins from here on
	w.stop()
	w.mu.Unlock()
	w.running.Wait()
	w.rows.Close()
	w.live.Close()
}

// Run opens the feed of a run for one observer, who must close it. All observers of a run share one
// feed. *db.UnknownIDError says that there is no such run.
func (w *Watcher) Run(ctx context.Context, run string) (*Feed, error) {
	f, err := w.existing(run)
	if f != nil {
		err = f.check(ctx)
	}
	switch {
	case errors.As(err, new(*CursorError)):
		f.end(err)
		f.stop()
		w.remove(f)
	case f != nil && err != nil:
		f.Close()
		return nil, err
	case f != nil || err != nil:
		return f, err
	}
	made, err := newFeed(ctx, w, run)
	if err != nil && w.ctx.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.feeds[run]; f != nil && f.join() { // another observer was faster
		made.stop()
		return f, nil
	}
	if w.ctx.Err() != nil {
		made.stop()
		return nil, ErrClosed
	}
	made.join()
	w.feeds[run] = made
	w.running.Go(made.work)
	return made, nil
}

func (w *Watcher) existing(run string) (*Feed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if f := w.feeds[run]; f != nil && f.join() {
		return f, nil
	}
	return nil, nil
}

// remove takes a feed that ended out of the list.
func (w *Watcher) remove(f *Feed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.feeds[f.run] == f {
		delete(w.feeds, f.run)
	}
}

// newGen numbers a piece of live text, so that no cursor takes it for another one, of another feed
// of the same run included.
func (w *Watcher) newGen() int64 { return w.gens.Add(1) }
