package worker

import (
	"context"
	"sync"
)

// turns have the activities of a run act one after another while they find out where it stands and
// start its driver: whoever looked in between would take a run that is about to begin for one that
// never will.
type turns struct {
	mu  sync.Mutex
	all map[string]chan struct{} // by the run: closed when the turn is over
}

// take waits for the turn. The function that it returns ends it; only the first call counts.
func (t *turns) take(ctx context.Context, run string) (done func(), err error) {
	for {
		t.mu.Lock()
		busy := t.all[run]
		if busy == nil {
			break
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	t.all[run] = mine
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.all, run)
		close(mine)
	}), nil
}
