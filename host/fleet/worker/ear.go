package worker

import (
	"strings"
	"sync"

	"agent/fleet/witness"
)

// ears are those who follow a run: they hear at once that it stops, from the word with which its
// driver has that be in the log.
type ears struct {
	mu  sync.Mutex
	all map[string]map[chan struct{}]bool // by the run
}

// listen gives what has something in it once the run has stopped, until the function is called.
func (e *ears) listen(run string) (heard chan struct{}, done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]map[chan struct{}]bool{}
	}
	if e.all[run] == nil {
		e.all[run] = map[chan struct{}]bool{}
	}
	heard = make(chan struct{}, 1)
	e.all[run][heard] = true
	return heard, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.all[run], heard); len(e.all[run]) == 0 {
			delete(e.all, run)
		}
	}
}

// hear takes what a driver said. An interrupted run is left out: its driver has to end first, which
// lets go of its lock.
func (e *ears) hear(x witness.Event) {
	if x.Reply.OK == nil || x.Why != "end" && !strings.HasPrefix(x.Why, "question ") {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for heard := range e.all[x.Root] {
		select {
		case heard <- struct{}{}:
		default: // it has not looked yet
		}
	}
}

// forget drops what was heard before now.
func forget(heard <-chan struct{}) {
	select {
	case <-heard:
	default:
	}
}
