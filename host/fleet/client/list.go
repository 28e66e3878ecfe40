package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

const (
	newest   = 20 // of the runs that have ended, which a list shows unless all are asked for
	page     = 200
	mostRows = 10_000
	looks    = 8 // at runs, at a time
)

// defaults reads search attributes, which are not sealed.
var defaults = converter.GetDefaultDataConverter()

// text is the innermost message of an error.
func (c *Client) text(f *failure.Failure) string {
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: c.data, EncodeCommonAttributes: true})
	err := failures.FailureToError(f)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Message()
	}
	return err.Error()
}

// List lists runs, the newest first: those that have not ended, and some or all that have.
func (c *Client) List(ctx context.Context, all bool) ([]Row, error) {
	const custodies = "WorkflowType = 'Custody' AND ExecutionStatus "
	most := newest
	if all {
		most = mostRows
	}
	open, err := c.list(ctx, custodies+"= 'Running'", mostRows)
	if err != nil {
		return nil, err
	}
	ended, err := c.list(ctx, custodies+"!= 'Running' AND ExecutionStatus != 'ContinuedAsNew'", most)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, 0, len(open)+len(ended))
	seen := map[string]bool{}
	for _, info := range append(open, ended...) {
		row, err := c.row(info)
		if err != nil {
			return nil, err
		}
		if !seen[row.Run] { // it ended between the two requests
			seen[row.Run] = true
			rows = append(rows, row)
		}
	}
	c.lookCloser(ctx, rows)
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Status == "queued" }) {
		if workers, err := c.Workers(ctx); err == nil { // else the list does without
			for i, r := range rows {
				rows[i] = r.lacking(workers)
			}
		}
	}
	return rows, nil
}

func (c *Client) list(ctx context.Context, query string, most int) ([]*workflow.WorkflowExecutionInfo, error) {
	var out []*workflow.WorkflowExecutionInfo
	var token []byte
	for {
		got, err := c.listPage(ctx, query, min(page, most-len(out)), token)
		if err != nil {
			return nil, fmt.Errorf("list the runs of the namespace %s: %w", c.namespace, err)
		}
		out, token = append(out, got.GetExecutions()...), got.GetNextPageToken()
		if len(token) == 0 || len(out) >= most {
			return out, nil
		}
	}
}

func (c *Client) listPage(ctx context.Context, query string, size int, token []byte) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return c.engine.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: c.namespace, PageSize: int32(size), NextPageToken: token, Query: query,
	})
}

// lookCloser asks about the runs that hosts drive or are asked to take, as long as there is time.
func (c *Client) lookCloser(ctx context.Context, rows []Row) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var wait sync.WaitGroup
	free := make(chan struct{}, looks)
	for i := range rows {
		switch rows[i].Status {
		case "running", "unreachable", "queued":
		default:
			continue
		}
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			wait.Wait()
			return
		}
		wait.Go(func() {
			defer func() { <-free }()
			if d, err := c.describe(ctx, rows[i].Run); err == nil {
				rows[i] = c.closer(rows[i], d.GetPendingActivities())
			}
		})
	}
	wait.Wait()
}
