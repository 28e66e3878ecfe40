package worker

import (
	"context"
	"fmt"
	"time"

	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"agent/fleet/client"
	"agent/fleet/custody"
)

const (
	workflowIdentify = "Identify"
	activityIdentify = "Identify"

	// identifyTime is how long a worker of the same name has to say that it lives. The engine may
	// hand what is asked to one that is gone, so it is asked again within that time.
	identifyTime = 10 * time.Second
	askTime      = time.Second
)

// Identify is the workflow that asks the worker of a host who it is.
func Identify(ctx workflow.Context, host string) (who string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: custody.HostQueue + host, ScheduleToCloseTimeout: identifyTime, StartToCloseTimeout: askTime,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 1},
	})
	err = workflow.ExecuteActivity(ctx, activityIdentify).Get(ctx, &who)
	return who, err
}

func (h *Host) identify(context.Context) (string, error) {
	return h.identity(), nil
}

func (h *Host) identity() string {
	return client.WorkerIdentity(h.Name, h.Home, !h.unlogged(), h.Labels)
}

// alone refuses the name of a host whose worker lives and has another state folder: both would take
// each other's runs. The engine remembers pollers that are gone, so one that it names is asked.
func (h *Host) alone(ctx context.Context, c *client.Client) error {
	others, err := c.Namesakes(ctx, h.Name, h.Home)
	if err != nil || len(others) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	w, err := c.Engine().ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{
		ID: "identify/" + h.Name, TaskQueue: custody.CustodyQueue, WorkflowExecutionTimeout: identifyTime, WorkflowTaskTimeout: askTime,
	}, workflowIdentify, h.Name)
	if err != nil {
		return fmt.Errorf("ask whether another worker is named %s: %w", h.Name, err)
	}
	var who string
	if w.Get(ctx, &who) != nil {
		return nil // it is gone
	}
	return fmt.Errorf("another worker is named %s: %s; --host gives this one a name of its own", h.Name, who)
}
