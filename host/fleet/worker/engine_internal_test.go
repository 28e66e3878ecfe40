package worker

import (
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The SDK gives a task the time that its schedule leaves it, by the clock of this machine: one that
// is an hour ahead of the engine's, or behind, has as much of it.
func TestATaskHasItsTimeByThisClock(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		started := now.Add(-ahead)
		task := &workflowservice.PollActivityTaskQueueResponse{
			ScheduledTime: timestamppb.New(started.Add(-3 * time.Second)), StartedTime: timestamppb.New(started),
		}
		byThisClock(task, now)
		if got := task.ScheduledTime.AsTime(); !got.Equal(now.Add(-3*time.Second)) || !task.StartedTime.AsTime().Equal(now) {
			t.Errorf("%s ahead: scheduled at %s, started at %s", ahead, got, task.StartedTime.AsTime())
		}
	}
}
