package worker

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
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
	if task, ok := r.(*workflowservice.PollActivityTaskQueueResponse); ok && err == nil && task.GetStartedTime() != nil {
		byThisClock(task, time.Now())
	}
	return err
}

// byThisClock has a task that has just begun have its times by the clock of this machine, whatever
// that says: the SDK takes how long the task may take from them.
func byThisClock(task *workflowservice.PollActivityTaskQueueResponse, now time.Time) {
	ahead := now.Sub(task.GetStartedTime().AsTime())
	for _, t := range []*timestamppb.Timestamp{task.GetScheduledTime(), task.GetCurrentAttemptScheduledTime(), task.GetStartedTime()} {
		if t != nil {
			at := timestamppb.New(t.AsTime().Add(ahead))
			t.Seconds, t.Nanos = at.Seconds, at.Nanos
		}
	}
}
