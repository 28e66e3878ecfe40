package worker

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	tick     = 200 * time.Millisecond // between two looks at the database's file and the locks
	pause    = 500 * time.Millisecond // between two commands that list runs, at the least
	interval = 10 * time.Second       // and at the most, while somebody waits
)

// eye looks at the runs of a state folder on behalf of all that follow one: while nothing is
// written and no lock is let go, no command is run.
type eye struct {
	agent Agent

	mu    sync.Mutex
	wants map[string]int      // runs that are followed, and by how many
	free  map[string]bool     // of them: its lock was free at the last look
	runs  map[string]localRun // as they were at the last list
	err   error               // of the last list
	gen   int64               // counts lists
	news  chan struct{}       // closed by the next list
	poked bool
}

func newEye(a Agent) *eye {
	return &eye{
		agent: a, wants: map[string]int{}, free: map[string]bool{}, news: make(chan struct{}),
	}
}

// poke has the next tick list the runs.
func (e *eye) poke() {
	e.mu.Lock()
	e.poked = true
	e.mu.Unlock()
}

// follow says that a run is of interest until the function that it returns is called.
func (e *eye) follow(run string) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wants[run]++
	e.poked = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.wants[run]--; e.wants[run] == 0 {
			delete(e.wants, run)
			delete(e.free, run)
		}
	}
}

// next waits for a list made after gen, and returns the run in it; known is false where it is not
// among those that have not ended.
func (e *eye) next(ctx context.Context, run string, gen int64) (r localRun, known bool, now int64, err error) {
	for {
		e.mu.Lock()
		r, known = e.runs[run]
		now, err = e.gen, e.err
		news := e.news
		e.mu.Unlock()
		if now > gen {
			return r, known, now, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return r, known, now, ctx.Err()
		}
	}
}

// watch looks until ctx ends.
func (e *eye) watch(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	var seen string
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		stamp := e.stamp()
		if due := e.due(stamp != seen, time.Since(last)); !due {
			continue
		}
		seen, last = stamp, time.Now()
		runs, err := e.agent.list(ctx)
		e.publish(runs, err)
	}
}

// stamp changes with what is written into the database.
func (e *eye) stamp() string {
	var out string
	for _, name := range []string{"agent.db", "agent.db-wal"} {
		if info, err := os.Stat(filepath.Join(e.agent.Home, name)); err == nil {
			out += info.ModTime().String() + " " + time.Duration(info.Size()).String() + "\n"
		}
	}
	return out
}

// due reports whether runs are to be listed now.
func (e *eye) due(changed bool, since time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.wants) == 0 {
		return false
	}
	for run := range e.wants {
		held, err := e.agent.held(run)
		free := err == nil && !held
		if free && !e.free[run] {
			e.poked = true // its driver has ended
		}
		e.free[run] = free
	}
	due := since >= interval || since >= pause && (changed || e.poked)
	if due {
		e.poked = false
	}
	return due
}

func (e *eye) publish(runs []localRun, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs, e.err = map[string]localRun{}, err
	for _, r := range runs {
		e.runs[r.ID] = r
	}
	e.gen++
	close(e.news)
	e.news = make(chan struct{})
}
