package drive

import (
	"sync"
	"time"

	"agent/host/stream"
)

// wakes lets the runs of a process share one watch of the database's files. With a watch each, the kernel would tell every
// write to the log as often as runs are driven, and that inside the write.
type wakes struct {
	mu    sync.Mutex // guards the rest
	watch watch
	runs  map[*wake]bool
	open  func(files ...string) (watch, error) // nil is stream.NewWaker
}

// watch is what hints come from.
type watch interface {
	C() <-chan struct{}
	Done() <-chan struct{}
	Close()
}

// begin starts a watch of the files.
func (w *wakes) begin(files ...string) (watch, error) {
	if w.open != nil {
		return w.open(files...)
	}
	return stream.NewWaker(files...)
}

// wake hints one run that another process may have written to the database.
type wake struct {
	from  *wakes
	hints chan struct{}
}

// join joins the watch, which begins with the first run.
func (w *wakes) join(files ...string) (*wake, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watch == nil {
		watch, err := w.begin(files...)
		if err != nil {
			return nil, err
		}
		w.watch, w.runs = watch, map[*wake]bool{}
		go w.pass(watch)
	}
	one := &wake{from: w, hints: make(chan struct{}, 1)}
	w.runs[one] = true
	return one, nil
}

// C delivers hints. It is never closed.
func (w *wake) C() <-chan struct{} { return w.hints }

// Close leaves the watch, which ends with the last run. Closing again does nothing.
func (w *wake) Close() {
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

// lookCost is more than what a run's look into the database takes: with many runs the pause between two hints is as long
// as all their looks together.
const lookCost = time.Millisecond

// pass hands the hints of one watch to every run, until another watch has taken its place or none.
func (w *wakes) pass(watch watch) {
	for {
		select {
		case <-watch.C():
		case <-watch.Done():
			return
		}
		pause := time.NewTimer(w.tell(watch))
		select {
		case <-pause.C:
		case <-watch.Done():
			pause.Stop()
			return
		}
	}
}

// tell hints every run, and says how long to leave them alone then.
func (w *wakes) tell(watch watch) time.Duration {
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
