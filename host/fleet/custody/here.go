package custody

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// ActivityTake is the local activity with which the host that carries out the workflow takes a run,
// where it has a free slot: Offer -> Taken, without a host where it does not take it.
const ActivityTake = "Take"

const (
	// versionTake is the change that has the host at hand take a run before it is offered to all:
	// that spares the engine an activity and a workflow task, and the run their time.
	versionTake = "take"
	takeTime    = 5 * time.Second
)

// take has the host at hand take a run that any host may have. What it says does not count where
// the custody has come to something else meanwhile: the slot that it keeps is free again later.
func (c *keeping) take(ctx workflow.Context, a Action) bool {
	if a.Offer == nil || c.state.To != "" {
		return false
	}
	if workflow.GetVersion(ctx, versionTake, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return false
	}
	act := c.state.Act
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: takeTime, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var taken Taken
	err := workflow.ExecuteLocalActivity(ctx, ActivityTake, *a.Offer).Get(ctx, &taken)
	if c.state.Act == act && err == nil && taken.Host != "" {
		c.apply(ctx, Event{Taken: &taken})
	}
	return c.state.Act != act
}
