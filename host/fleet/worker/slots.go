package worker

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
)

// promised is how long a slot is kept for a run that was taken and that nobody has asked to drive.
const promised = 2 * time.Minute

// slots count the runs that are driven here. A run has at most one, however often it is asked for.
// Only an offer waits for a free one: what the host has already goes on in any case.
type slots struct {
	size int

	mu     sync.Mutex
	used   map[string]int       // how many activities drive the run now
	taken  map[string]time.Time // when an offer was accepted whose run is not driven yet
	closed bool
	change chan struct{} // closed when a slot may have become free
}

func newSlots(size int) *slots {
	return &slots{
		size: size, used: map[string]int{}, taken: map[string]time.Time{}, change: make(chan struct{}),
	}
}

// free is how many slots are free; the caller holds the lock.
func (s *slots) free() int {
	for run, at := range s.taken {
		if time.Since(at) > promised {
			delete(s.taken, run)
		}
	}
	if s.closed {
		return 0
	}
	return s.size - len(s.used) - len(s.taken)
}

// take keeps a slot for a run that was offered.
func (s *slots) take(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[run] > 0 || !s.taken[run].IsZero() {
		return !s.closed
	}
	if s.free() <= 0 {
		return false
	}
	s.taken[run] = time.Now()
	return true
}

// use has a run occupy a slot until the function that it returns is called.
func (s *slots) use(run string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, run)
	s.used[run]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.used[run]--; s.used[run] == 0 {
			delete(s.used, run)
		}
		close(s.change)
		s.change = make(chan struct{})
	}
}

// close lets no further offer in.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// count is how many slots are used.
func (s *slots) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.used) + len(s.taken)
}

// gate has the queues of a pool asked only while a slot is free. It keeps none: several queues are
// asked at a time, and the offer itself takes the slot, or is given back.
type gate struct{ slots *slots }

var _ worker.SlotSupplier = gate{}

// ReserveSlot waits until a slot is free.
func (g gate) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for {
		g.slots.mu.Lock()
		free, change := g.slots.free(), g.slots.change
		g.slots.mu.Unlock()
		if free > 0 {
			return new(worker.SlotPermit), nil
		}
		select {
		case <-change:
		case <-time.After(promised): // one that was kept for nothing is free now
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TryReserveSlot is for eager activities, which a pool has none of.
func (g gate) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// MarkSlotUsed does nothing.
func (g gate) MarkSlotUsed(worker.SlotMarkUsedInfo) {}

// ReleaseSlot does nothing.
func (g gate) ReleaseSlot(worker.SlotReleaseInfo) {}

// MaxSlots says that there is no fixed number.
func (g gate) MaxSlots() int { return 0 }
