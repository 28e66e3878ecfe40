package db

import (
	"context"
	"time"
)

// nextFree takes a part to read into, and calls release where there is none for a while: whoever
// decodes may wait for what the reader holds. It is nil once nobody wants any more.
func nextFree(ctx context.Context, free <-chan *part, release func()) *part {
	select {
	case p := <-free:
		return p
	case <-ctx.Done():
		return nil
	case <-time.After(holdFor):
		release()
	}
	select {
	case p := <-free:
		return p
	case <-ctx.Done():
		return nil
	}
}

// failed is a part that could not be read.
func failed(p *part, err error) *part {
	p.err, p.decoded = err, make(chan struct{})
	close(p.decoded)
	return p
}
