package runner

import (
	"context"
	"time"
)

// backoff is a pause that doubles up to its longest.
type backoff struct {
	first, next, longest time.Duration
}

func newBackoff(first, longest time.Duration) *backoff {
	return &backoff{first: first, next: first, longest: longest}
}

// wait pauses. A hint ends the pause early and makes the next ones short again. False means that
// ctx ended.
func (b *backoff) wait(ctx context.Context, hints <-chan struct{}) bool {
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-hints:
		b.next = b.first
	case <-timer.C:
		b.next = min(2*b.next, b.longest)
	}
	return true
}
