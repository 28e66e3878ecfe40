// Package fake is a log for tests: in memory or over another one, with outages and lost
// acknowledgements as the test wants them.
package fake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agent/fleet/log"
)

// ErrLost is the error of an answer that got lost.
var ErrLost = errors.New("the connection was lost")

// Log is a log that can be disturbed.
type Log struct {
	inner log.Log

	mu     sync.Mutex
	down   error
	before int // creations that are lost on the way there
	after  int // creations that are stored, and whose answer is lost

	// Creates counts the creations that were asked for.
	creates int
}

// Over disturbs another log.
func Over(inner log.Log) *Log { return &Log{inner: inner} }

// New is a log in memory.
func New() *Log { return Over(&memory{entries: map[string]map[int64][]byte{}}) }

// Down has everything fail with an error until Up.
func (l *Log) Down(err error) { l.set(func() { l.down = err }) }

// Up ends an outage.
func (l *Log) Up() { l.set(func() { l.down = nil }) }

// LoseBefore has the next n creations fail before anything is stored.
func (l *Log) LoseBefore(n int) { l.set(func() { l.before = n }) }

// LoseAfter has the next n creations fail after the entry was stored.
func (l *Log) LoseAfter(n int) { l.set(func() { l.after = n }) }

// Creates is how many creations were asked for.
func (l *Log) Creates() (n int) {
	l.set(func() { n = l.creates })
	return n
}

func (l *Log) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *Log) answers() (err error) {
	l.set(func() { err = l.down })
	return err
}

// Create stores an entry, unless it is disturbed.
func (l *Log) Create(ctx context.Context, root string, place int64, entry []byte) error {
	var before, after bool
	var down error
	l.set(func() {
		l.creates++
		if down = l.down; down != nil {
			return
		}
		if before = l.before > 0; before {
			l.before--
		} else if after = l.after > 0; after {
			l.after--
		}
	})
	if down != nil {
		return down
	}
	if before {
		return ErrLost
	}
	err := l.inner.Create(ctx, root, place, entry)
	if after {
		return ErrLost
	}
	return err
}

// Read reads an entry.
func (l *Log) Read(ctx context.Context, root string, place int64) ([]byte, error) {
	if err := l.answers(); err != nil {
		return nil, err
	}
	return l.inner.Read(ctx, root, place)
}

// Last is the highest place.
func (l *Log) Last(ctx context.Context, root string) (int64, error) {
	if err := l.answers(); err != nil {
		return 0, err
	}
	return l.inner.Last(ctx, root)
}

// Roots names the roots.
func (l *Log) Roots(ctx context.Context, each func(root string) error) error {
	if err := l.answers(); err != nil {
		return err
	}
	return l.inner.Roots(ctx, each)
}

// Close closes what is under it.
func (l *Log) Close() error { return l.inner.Close() }

type memory struct {
	mu      sync.Mutex
	entries map[string]map[int64][]byte
}

func (m *memory) Create(ctx context.Context, root string, place int64, entry []byte) error {
	if err := errors.Join(ctx.Err(), log.CheckRoot(root)); err != nil {
		return err
	}
	if place < 1 {
		return fmt.Errorf("a log has no place %d", place)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.entries[root][place]; taken {
		return log.ErrTaken
	}
	if m.entries[root] == nil {
		m.entries[root] = map[int64][]byte{}
	}
	m.entries[root][place] = append([]byte{}, entry...)
	return nil
}

func (m *memory) Read(ctx context.Context, root string, place int64) ([]byte, error) {
	if err := errors.Join(ctx.Err(), log.CheckRoot(root)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, ok := m.entries[root][place]
	if !ok {
		return nil, log.ErrNone
	}
	return bytes.Clone(entry), nil
}

func (m *memory) Last(ctx context.Context, root string) (last int64, err error) {
	if err := errors.Join(ctx.Err(), log.CheckRoot(root)); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for place := range m.entries[root] {
		last = max(last, place)
	}
	return last, nil
}

func (m *memory) Roots(_ context.Context, each func(root string) error) error {
	m.mu.Lock()
	var roots []string
	for root := range m.entries {
		roots = append(roots, root)
	}
	m.mu.Unlock()
	slices.Sort(roots)
	for _, root := range roots {
		if err := each(root); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Close() error { return nil }
