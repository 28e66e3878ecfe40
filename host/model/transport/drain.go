package transport

import (
	"io"
	"time"
)

// drainTime is how long the end of a body is waited for once the answer is whole, and drainSize how
// much is read meanwhile.
const (
	drainTime = 50 * time.Millisecond
	drainSize = 64 << 10
)

// Drain reads what is left of a body behind a whole answer, which is nothing or a few bytes: a
// connection that is read to its end carries the next request too, which saves a handshake per
// turn. A server that holds the body open loses the connection.
func Drain(body io.Reader) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The answer is there: an error leaves the connection unusable, which is all that it
		// changes.
		_, _ = io.Copy(io.Discard, io.LimitReader(body, drainSize))
	}()
	limit := time.NewTimer(drainTime)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}
