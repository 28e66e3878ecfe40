package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Finding is what a check found.
type Finding struct {
	Wrong bool   `json:"wrong"`
	Text  string `json:"text"`
}

// Doctor checks what a connected client can see: how long the namespace keeps runs, whether workers
// are there, and which runs wait for somebody.
func (c *Client) Doctor(ctx context.Context) ([]Finding, error) {
	out := []Finding{{Text: fmt.Sprintf("the namespace %s of the engine %s is that of this fleet, %s", c.namespace, c.address, c.key.Fleet())}}
	ns, err := c.describeNamespace(ctx)
	if err != nil {
		return nil, err
	}
	kept := ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	out = append(out, Finding{
		Wrong: kept < Retention,
		Text:  fmt.Sprintf("a start key is known for %d days after its run has ended (30 at least)", int(kept.Hours()/24)),
	})
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	if len(workers) == 0 {
		out = append(out, Finding{true, "no worker asks for work: agent-fleet worker on a host has it take part"})
	} else {
		out = append(out, Finding{false, fmt.Sprintf("%d workers ask for work: %s", len(workers), strings.Join(workers, ", "))})
	}
	out = append(out, doubled(workers)...)
	if n := len(slices.DeleteFunc(workers, func(w string) bool { return !strings.Contains(w, withoutLog) })); n > 0 {
		out = append(out, Finding{false, fmt.Sprintf("%d of them without a log: they take runs of --mode plan, and what they know of them is lost with their hosts", n)})
	}
	rows, err := c.List(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		switch r.Status {
		case "parked", "unreachable":
			out = append(out, Finding{true, fmt.Sprintf("run %s is %s: %s; %s", r.Run, r.Status, r.Reason, r.Next)})
		case "waiting":
			out = append(out, Finding{false, fmt.Sprintf("run %s waits for an answer; %s", r.Run, r.Next)})
		}
	}
	return out, nil
}
