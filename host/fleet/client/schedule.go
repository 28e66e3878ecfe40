package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"agent/fleet/custody"
)

// Schedule has runs begun at certain times.
type Schedule struct {
	Name string      `json:"name"`
	Cron []string    `json:"cron,omitempty"`
	Zone string      `json:"zone,omitempty"`
	Next []time.Time `json:"next,omitempty"`
	Run  custody.Run `json:"-"`
}

// NextText is when the next run begins.
func (s Schedule) NextText() string {
	if len(s.Next) == 0 {
		return "never"
	}
	return s.Next[0].Local().Format(time.DateTime)
}

const schedulePrefix = "schedule/"

// AddSchedule adds a schedule. While its last run has not ended, the next one is left out.
func (c *Client) AddSchedule(ctx context.Context, s Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := c.engine.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:      schedulePrefix + s.Name,
		Spec:    client.ScheduleSpec{CronExpressions: s.Cron, TimeZoneName: s.Zone},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{
			ID: schedulePrefix + s.Name, Workflow: custody.Scheduled, Args: []any{s.Run}, TaskQueue: custody.CustodyQueue,
		},
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("add the schedule %s: there is one of that name: agent-fleet schedule rm %s removes it", s.Name, s.Name)
	}
	if errors.As(err, new(*serviceerror.InvalidArgument)) {
		return fmt.Errorf("add the schedule %s: the engine cannot read its times %s in the zone %s: %w; a line of a crontab is such as '0 3 * * *'",
			s.Name, strings.Join(s.Cron, ", "), s.Zone, err)
	}
	if err != nil {
		return fmt.Errorf("add the schedule %s: %w", s.Name, err)
	}
	return nil
}

// Schedules lists the schedules of the fleet.
func (c *Client) Schedules(ctx context.Context) ([]Schedule, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	list, err := c.engine.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: page})
	if err != nil {
		return nil, fmt.Errorf("list the schedules: %w", err)
	}
	out := []Schedule{}
	for list.HasNext() {
		e, err := list.Next()
		if err != nil {
			return nil, fmt.Errorf("list the schedules: %w", err)
		}
		if name, ok := strings.CutPrefix(e.ID, schedulePrefix); ok {
			out = append(out, Schedule{Name: name, Next: e.NextActionTimes})
		}
	}
	return out, nil
}

// RemoveSchedule removes a schedule. A run that it began goes on.
func (c *Client) RemoveSchedule(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := c.engine.ScheduleClient().GetHandle(ctx, schedulePrefix+name).Delete(ctx)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return fmt.Errorf("remove the schedule %s: there is none: agent-fleet schedule ls lists them", name)
	}
	if err != nil {
		return fmt.Errorf("remove the schedule %s: %w", name, err)
	}
	return nil
}
