package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"

	"agent/fleet/custody"
)

// RefusedError says that the custody of a run refused what it was asked.
type RefusedError struct{ What, Why string }

func (e *RefusedError) Error() string { return e.What + ": " + e.Why }

// AnsweredError says that a question had another answer before.
type AnsweredError struct {
	First custody.Answer
	Ago   time.Duration
}

func (e *AnsweredError) Error() string {
	return fmt.Sprintf("%s was answered %s ago by %s: %s; yours was not taken",
		e.First.Request, Span(e.Ago), e.First.By, e.First.Text)
}

// Answer answers an open question. The first answer counts: to another one it gives *AnsweredError.
// It also says what became of the run's answers before, and how the run stood.
func (c *Client) Answer(ctx context.Context, a custody.Answer) (row Row, err error) {
	what := "answer " + a.Request
	run, err := c.asker(ctx, a.Request)
	if err != nil {
		return row, err
	}
	if row, err = c.Where(ctx, run); err != nil {
		return row, err
	}
	if q := row.Request; q != nil && q.ID == a.Request {
		if err := q.Fits(a.Text); err != nil {
			return row, &RefusedError{what, err.Error()}
		}
	}
	id := a.Request
	if row.Refused > 0 { // an answer that was not taken leaves its id used
		id = fmt.Sprintf("%s/%d", id, row.Refused)
	}
	var first custody.Answer
	if err := c.update(ctx, what, run, id, custody.UpdateAnswer, &first, a); err != nil {
		return row, err
	}
	if first.Text != a.Text {
		return row, &AnsweredError{First: first, Ago: time.Since(first.At)}
	}
	return row, nil
}

// asker finds the run that asks a question. Lists of the engine are a little behind.
func (c *Client) asker(ctx context.Context, request string) (string, error) {
	query := fmt.Sprintf("%s = '%s'", custody.AttrQuestion.GetName(), request)
	deadline := time.Now().Add(3 * time.Second)
	for {
		found, err := c.list(ctx, query, 2)
		if err != nil {
			return "", fmt.Errorf("answer %s: %w", request, err)
		}
		if len(found) > 0 {
			return found[0].GetExecution().GetWorkflowId()[len(custody.RunWorkflow):], nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("answer %s: no run of the namespace %s asks it: agent-fleet ls lists the open questions", request, c.namespace)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// update asks something of the custody of a run, and waits for what it says.
func (c *Client) update(ctx context.Context, what, run, id, name string, out any, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, handledTime)
	defer cancel()
	handle, err := c.engine.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: custody.RunWorkflow + run, UpdateName: name, Args: args,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, out)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return &RefusedError{what, app.Message()}
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*serviceerror.NotFound)):
		if row, e := c.Where(ctx, run); e == nil {
			return &RefusedError{what, fmt.Sprintf("run %s has ended (%s)", run, row.Status)}
		}
		return fmt.Errorf("%s: %w", what, &UnknownRunError{Run: run, Namespace: c.namespace})
	case ctx.Err() != nil:
		return fmt.Errorf("%s: the engine has it, and no worker has taken it within %s; it may be taken later: give the command again to see (agent-fleet doctor)", what, handledTime)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Move has a run go on elsewhere.
func (c *Client) Move(ctx context.Context, run string, m custody.Move) (custody.Where, error) {
	what := "move run " + run
	m.Shown = true
	var out custody.Where
	if m.To != "" {
		if err := c.Polled(ctx, m.To); err != nil {
			return out, fmt.Errorf("%s to %s: %w", what, m.To, err)
		}
	}
	return out, c.update(ctx, what, run, "", custody.UpdateMove, &out, m)
}

// Polled refuses a host whose worker does not ask the engine for work. The engine forgets one after
// some minutes: its times are of its own clock, and this machine's may be another.
func (c *Client) Polled(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d, err := c.engine.DescribeTaskQueue(ctx, custody.HostQueue+host, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return err
	}
	if len(d.GetPollers()) == 0 {
		return errors.New("no worker of that name has asked for work lately")
	}
	return nil
}

// Resume has a parked run go on.
func (c *Client) Resume(ctx context.Context, run string) (custody.Where, error) {
	var out custody.Where
	return out, c.update(ctx, "resume run "+run, run, "", custody.UpdateResume, &out)
}

// Cancel ends a run. The engine has recorded it when Cancel returns; the run ends a little later.
func (c *Client) Cancel(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := c.engine.CancelWorkflow(ctx, custody.RunWorkflow+run, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		err = &UnknownRunError{Run: run, Namespace: c.namespace}
		if row, e := c.Where(ctx, run); e == nil && row.Over() {
			return nil // Where says how
		}
	}
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", run, err)
	}
	return nil
}

// Outcome is how a run ended, in full.
func (c *Client) Outcome(ctx context.Context, run string) (custody.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var out custody.Outcome
	if err := c.engine.GetWorkflow(ctx, custody.RunWorkflow+run, "").Get(ctx, &out); err != nil {
		return out, fmt.Errorf("read how run %s ended: %w", run, err)
	}
	return out, nil
}

// Wait follows a run until done says so of where it is; see is called with each change.
func (c *Client) Wait(ctx context.Context, run string, every time.Duration, done func(Row) bool, see func(Row)) (Row, error) {
	down := time.Time{}
	for {
		row, err := c.Where(ctx, run)
		var unavailable *serviceerror.Unavailable
		switch {
		case err == nil:
			down = time.Time{}
			see(row)
			if done(row) {
				return row, nil
			}
		case errors.As(err, &unavailable) && (down.IsZero() || time.Since(down) < time.Hour):
			if down.IsZero() {
				down = time.Now() // the engine may come back: the run goes on meanwhile
			}
		default:
			return row, err
		}
		select {
		case <-ctx.Done():
			return row, ctx.Err()
		case <-time.After(every):
		}
	}
}

// Workers counts who asks for the workflows of the fleet.
func (c *Client) Workers(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	d, err := c.engine.DescribeTaskQueue(ctx, custody.CustodyQueue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, fmt.Errorf("look for the workers of the namespace %s: %w", c.namespace, err)
	}
	var out []string
	for _, p := range d.GetPollers() {
		if !slices.Contains(out, p.GetIdentity()) {
			out = append(out, p.GetIdentity())
		}
	}
	slices.Sort(out)
	return out, nil
}

// History is the history of a run as the engine has it, sealed, in JSON.
func (c *Client) History(ctx context.Context, run string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, handledTime)
	defer cancel()
	whole := &history.History{}
	events := c.engine.GetWorkflowHistory(ctx, custody.RunWorkflow+run, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of run %s: %w", run, err)
		}
		whole.Events = append(whole.Events, e)
	}
	b, err := protojson.MarshalOptions{Indent: " "}.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("read the history of run %s: %w", run, err)
	}
	return append(b, '\n'), nil
}
