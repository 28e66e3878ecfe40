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
	interval = 10 * time.Second       // between two commands that list runs, while somebody waits
)

// eye looks at the runs of a state folder on behalf of all that follow one. Whether a run has ended
// or asks something is heard from its driver (see ears); what is listed here is how far it is, and
// what a driver that died did not say.
type eye struct {
	agent Agent

	mu    sync.Mutex
	wants map[string]int      // runs that are followed, and by how many
	free  map[string]bool     // of them: its lock was free at the last look
	runs  map[string]localRun // as they were at the last list
	err   error               // of the last list
	gen   int64               // counts lists
	news  chan struct{}       // closed by the next list
	last  time.Time           // when they were listed, or somebody began to follow one
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
	if len(e.wants) == 0 {
		e.last = time.Now()
	}
	e.wants[run]++
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.wants[run]--; e.wants[run] == 0 {
			delete(e.wants, run)
			delete(e.free, run)
		}
	})
}

// next waits for a list made after gen, and returns the run in it; known is false where it is not
// among those that have not ended, or was heard to have stopped.
func (e *eye) next(ctx context.Context, run string, gen int64, heard <-chan struct{}) (r localRun, known bool, now int64, err error) {
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
		case <-heard:
			return r, false, now, nil
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		stamp := e.stamp()
		if !e.due(stamp != seen) {
			continue
		}
		seen = stamp
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
func (e *eye) due(changed bool) bool {
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
	since := time.Since(e.last)
	due := since >= interval || changed && since >= beat || e.poked
	if due {
		e.poked, e.last = false, time.Now()
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
