// Package once has what several ask for at the same time done by one of them. Whoever comes while
// it is being done waits, and is given the same.
package once

import (
	"context"
	"errors"
	"sync"
)

// Group is what is being done, by name. Its zero value is ready for use.
type Group[T any] struct {
	mu      sync.Mutex
	doing   map[string]*work[T]
	waiting int
}

type work[T any] struct {
	done  chan struct{}
	value T
	err   error
}

var errBroken = errors.New("what was waited for ended without a result")

// Do calls do, unless it is being done under this name already: then it waits for that, until ctx
// is done.
func (g *Group[T]) Do(ctx context.Context, name string, do func() (T, error)) (T, error) {
	w, first := g.take(name)
	if !first {
		defer g.left()
		select {
		case <-w.done:
			return w.value, w.err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
	defer g.end(name, w)
	w.err = errBroken // for the others, where do does not return
	w.value, w.err = do()
	return w.value, w.err
}

// Waiting is how many wait at this moment for what others do.
func (g *Group[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

func (g *Group[T]) left() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

func (g *Group[T]) take(name string) (w *work[T], first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w := g.doing[name]; w != nil {
		g.waiting++
		return w, false
	}
	if g.doing == nil {
		g.doing = map[string]*work[T]{}
	}
	w = &work[T]{done: make(chan struct{})}
	g.doing[name] = w
	return w, true
}

func (g *Group[T]) end(name string, w *work[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.doing, name)
	close(w.done)
}
