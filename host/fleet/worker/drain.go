package worker

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"agent/fleet/custody"
)

const (
	workflowDrain = "Drain"
	activityDrain = "Drain"
)

// Drain is the workflow that has a host take no further run. The runs that it has are moved by
// whoever wants it drained.
func Drain(ctx workflow.Context, host string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: custody.HostQueue + host, ScheduleToCloseTimeout: time.Minute, StartToCloseTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 5 * time.Second},
	})
	return workflow.ExecuteActivity(ctx, activityDrain).Get(ctx, nil)
}

// drain is the activity that closes the slots until the worker is started again.
func (h *Host) drain(context.Context) error {
	h.slots.close()
	h.logger.Info("no further run is taken here")
	return nil
}

// StartDrain has a host take no further run, and waits until it has agreed.
func StartDrain(ctx context.Context, c client.Client, host string) error {
	w, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "drain/" + host, TaskQueue: custody.CustodyQueue, WorkflowExecutionTimeout: 2 * time.Minute,
	}, workflowDrain, host)
	if err == nil {
		err = w.Get(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("have host %s take no further run: %w", host, err)
	}
	return nil
}
