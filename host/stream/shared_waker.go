package stream

import (
	"sync"
	"time"
)

// SharedWaker lets the runs of a process share one watch of the database's files. With a watch
// each, the kernel would tell every write to the log as often as runs are driven, and that inside
// the write.
type SharedWaker struct {
	// Open starts a watch of the files; nil is NewWaker.
	Open func(files ...string) (HintSource, error)

	mu    sync.Mutex // guards the rest
	watch HintSource
	runs  map[*Subscription]bool
}

// HintSource is what hints come from.
type HintSource interface {
	C() <-chan struct{}
	Done() <-chan struct{}
	Close()
}

// begin starts a watch of the files.
func (w *SharedWaker) begin(files ...string) (HintSource, error) {
	if w.Open != nil {
		return w.Open(files...)
	}
	waker, err := NewWaker(files...)
	if err != nil {
		return nil, err // and not a *Waker that is nil
	}
	return waker, nil
}

// Subscription hints one run that another process may have written to the database.
type Subscription struct {
	from  *SharedWaker
	hints chan struct{}
}

// Subscribe joins the watch, which begins with the first run.
func (w *SharedWaker) Subscribe(files ...string) (*Subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch == nil {
		watch, err := w.begin(files...)
		if err != nil {
			return nil, err
		}
		w.watch, w.runs = watch, map[*Subscription]bool{}
		go w.pass(watch)
	}
	one := &Subscription{from: w, hints: make(chan struct{}, 1)}
	w.runs[one] = true
	return one, nil
}

// C delivers hints. It is never closed.
func (w *Subscription) C() <-chan struct{} { return w.hints }

// Close leaves the watch, which ends with the last run. Closing again does nothing.
func (w *Subscription) Close() {
	all := w.from
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.runs[w] {
		return
	}
	delete(all.runs, w)
	if len(all.runs) == 0 {
		all.watch.Close()
		all.watch = nil
	}
}

// lookCost is more than what a run's look into the database takes: with many runs the pause between
// two hints is as long as all their looks together.
const lookCost = time.Millisecond

// pass hands the hints of one watch to every run, until another watch has taken its place or none.
func (w *SharedWaker) pass(watch HintSource) {
	for {
		select {
		case <-watch.C():
		case <-watch.Done():
			return
		}
		pause := time.NewTimer(w.notify(watch))
		select {
		case <-pause.C:
		case <-watch.Done():
			pause.Stop()
			return
		}
	}
}

// notify hints every run, and says how long to leave them alone then.
func (w *SharedWaker) notify(watch HintSource) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch != watch {
		return 0
	}
	for one := range w.runs {
		select {
		case one.hints <- struct{}{}:
		default: // one is waiting already
		}
	}
	return time.Duration(len(w.runs)) * lookCost
}
