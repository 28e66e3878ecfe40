//go:build linux

package bare

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Shared is a database with a group commit, as the store has one: while the commit of one writer is
// made durable the rows of the others gather, and the next commit has them all.
type Shared struct {
	*DB
	mu      sync.Mutex
	waiting []*gathered
	led     bool
}

// gathered is a writer's row on its way.
type gathered struct {
	row  []byte
	turn chan bool // true: lead the next commit; false: the row is durable
	err  error
}

// Commit makes a row durable, with those that wait.
func (s *Shared) Commit(row []byte) error {
	g := &gathered{row: row, turn: make(chan bool, 1)}
	s.mu.Lock()
	s.waiting = append(s.waiting, g)
	lead := !s.led
	s.led = true
	s.mu.Unlock()
	if lead || <-g.turn {
		s.lead()
	}
	return g.err
}

func (s *Shared) lead() {
	s.mu.Lock()
	batch := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	err := s.write(batch)
	for _, g := range batch {
		g.err = err
	}
	s.mu.Lock()
	if s.led = len(s.waiting) > 0; s.led {
		s.waiting[0].turn <- true
	}
	s.mu.Unlock()
	for _, g := range batch[1:] { // the first of them leads
		g.turn <- false
	}
}

func (s *Shared) write(batch []*gathered) error {
	ctx := context.Background() // as in bare
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, g := range batch {
		if _, err := s.insert.ExecContext(ctx, g.row); err != nil {
			return err
		}
	}
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	return err
}

// Race has so many writers commit so many turns each, and gives the time of
// one turn.
func (s *Shared) Race(writers, turns int, size Turn) (time.Duration, error) {
	var all sync.WaitGroup
	failed := make([]error, writers)
	began := time.Now()
	for i := range writers {
		all.Go(func() {
			for range turns {
				failed[i] = errors.Join(failed[i], s.Commit(make([]byte, size.Answer)), s.Commit(make([]byte, size.Results)))
			}
		})
	}
	all.Wait()
	return time.Since(began) / time.Duration(writers*turns), errors.Join(failed...)
}
