package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"agent/fleet/custody"
)

// Row is where a run is, as a list shows it.
type Row struct {
	custody.Where
	Began    time.Time         `json:"began"`
	Ended    *time.Time        `json:"ended,omitempty"`
	Progress *custody.Progress `json:"progress,omitempty"` // of the last heartbeat
	Beat     *time.Time        `json:"beat,omitempty"`     // when that was
	Repo     string            `json:"repo,omitempty"`
	Lacks    string            `json:"lacks,omitempty"` // what a queued run waits for: Slot, Labels or Hosts, where that is known
}

// Young is the age of a run that hosts have hardly had the time to take.
const Young = 2 * time.Second

// Over reports whether the run has ended.
func (r Row) Over() bool { return r.Ended != nil }

// UnknownRunError says that the fleet has no such run.
type UnknownRunError struct{ Run, Namespace string }

func (e *UnknownRunError) Error() string {
	return fmt.Sprintf("the namespace %s has no run %s: agent-fleet ls --all lists them", e.Namespace, e.Run)
}

func (c *Client) describe(ctx context.Context, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d, err := c.engine.DescribeWorkflowExecution(ctx, custody.RunWorkflow+run, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, &UnknownRunError{Run: run, Namespace: c.namespace}
	}
	return d, err
}

// memo reads a value of a workflow's memo; one that is not there leaves out as it is.
func (c *Client) memo(m *common.Memo, name string, out any) error {
	p := m.GetFields()[name]
	if p == nil {
		return nil
	}
	return c.data.FromPayload(p, out)
}

// Where says where a run is. It needs no worker: the workflow has left it in its memo.
func (c *Client) Where(ctx context.Context, run string) (Row, error) {
	d, err := c.describe(ctx, run)
	if err != nil {
		return Row{}, fmt.Errorf("look where run %s is: %w", run, err)
	}
	row, err := c.row(d.GetWorkflowExecutionInfo())
	if err != nil {
		return Row{}, err
	}
	row = c.closer(row, d.GetPendingActivities())
	if row.Status == "queued" {
		if workers, err := c.Workers(ctx); err == nil {
			row = row.lacking(workers)
		}
	}
	return row, nil
}

// row reads what a workflow says of itself.
func (c *Client) row(info *workflow.WorkflowExecutionInfo) (Row, error) {
	run := info.GetExecution().GetWorkflowId()[len(custody.RunWorkflow):]
	row := Row{Began: info.GetStartTime().AsTime()}
	row.Run, row.Status, row.Since = run, "queued", row.Began
	row.Reason, row.Next = "no worker has looked at it yet", "agent-fleet cancel "+run
	var left custody.Where // what it leaves out is empty, and not what it was before
	if err := c.memo(info.GetMemo(), custody.MemoWhere, &left); err != nil {
		return row, fmt.Errorf("look where run %s is: %w", run, err)
	}
	if left.Run != "" {
		row.Where = left
	}
	if row.Status == "queued" && time.Since(row.Began) < Young {
		row.Reason, row.Next = "it has just begun, and is being offered to hosts", "agent-fleet show "+run
	}
	fields := info.GetSearchAttributes().GetIndexedFields()
	row.Repo = keyword(fields[custody.AttrRepo.GetName()])
	if by := keyword(fields[custody.AttrUser.GetName()]); row.By == "" {
		row.By = by
	}
	switch status := info.GetStatus(); status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return row, nil
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
	default: // an administrator ended it, past the fleet
		row.Status, row.Next = "failed", ""
		row.Reason = "its workflow was ended from outside: " + status.String()
	}
	ended := info.GetCloseTime().AsTime()
	row.Ended = &ended
	return row, nil
}

// closer adds what the heartbeats of the host say.
func (c *Client) closer(row Row, pending []*workflow.PendingActivityInfo) Row {
	for _, a := range pending {
		switch a.GetActivityType().GetName() {
		case custody.ActivityDrive:
			if a.GetState() != enums.PENDING_ACTIVITY_STATE_STARTED || a.GetLastHeartbeatTime() == nil {
				continue
			}
			beat := a.GetLastHeartbeatTime().AsTime()
			var p custody.Progress
			if c.data.FromPayloads(a.GetHeartbeatDetails(), &p) == nil {
				row.Progress, row.Beat = &p, &beat
			}
			if row.Status == "unreachable" { // it was, and the workflow has not heard yet
				row.Status, row.Since, row.Next = "running", beat, "agent-fleet attach "+row.Run
			}
		case custody.ActivityOffer:
			if f := a.GetLastFailure(); f != nil && row.Status == "queued" {
				row.Reason += "; the last host that was asked: " + c.text(f)
			}
		}
	}
	return row
}

func keyword(p *common.Payload) string {
	var s string
	if p == nil || defaults.FromPayload(p, &s) != nil {
		return ""
	}
	return s
}
