package worker

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// engine notes when the engine was last heard of.
type engine struct {
	begun time.Time
	heard atomic.Int64 // after begun, of the monotonic clock
}

func newEngine() *engine { return &engine{begun: time.Now()} }

// silent is for how long the engine has not been heard of.
func (e *engine) silent() time.Duration {
	return time.Since(e.begun) - time.Duration(e.heard.Load())
}

// intercept is an interceptor of calls.
func (e *engine) intercept(ctx context.Context, method string, q, r any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	err := call(ctx, method, q, r, c, o...)
	if err == nil {
		e.heard.Store(int64(time.Since(e.begun)))
	}
	return err
}
