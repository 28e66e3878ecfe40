package modeltest

import (
	"context"
	"fmt"
)

// hold waits for Release; false when the client or the server is gone first.
func (o *sending) hold() bool {
	gate := make(chan struct{})
	s := o.server
	s.mu.Lock()
	s.gates[o.number] = gate
	s.mu.Unlock()
	s.note(o.number, func(e *Exchange) { e.Held = true })
	defer func() {
		s.mu.Lock()
		delete(s.gates, o.number)
		s.mu.Unlock()
		s.note(o.number, func(e *Exchange) { e.Held = false })
	}()
	select {
	case <-gate:
		return true
	case <-o.r.Context().Done():
	case <-s.closed:
	}
	return false
}

// Release lets every stream go on that is held now, and says how many those are.
func (s *Server) Release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.gates)
	for k, g := range s.gates {
		close(g)
		delete(s.gates, k)
	}
	return n
}

// Wait returns the first exchange, of those behind the first skip ones, for which ok holds, as soon
// as there is one.
func (s *Server) Wait(ctx context.Context, skip int, ok func(Exchange) bool) (Exchange, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		for _, e := range s.exchanges[min(skip, len(s.exchanges)):] {
			if ok(e) {
				s.mu.Unlock()
				return e, nil
			}
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.closed:
			return Exchange{}, fmt.Errorf("wait for a request: the model server is closed")
		case <-ctx.Done():
			return Exchange{}, fmt.Errorf("wait for a request: %w", ctx.Err())
		}
	}
}

// Held returns the next exchange behind the first skip ones that is held at its position.
func (s *Server) Held(ctx context.Context, skip int) (Exchange, error) {
	return s.Wait(ctx, skip, func(e Exchange) bool { return e.Held })
}
