package client

import (
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"

	"agent/fleet/custody"
)

func execution(run string) *common.WorkflowExecution {
	return &common.WorkflowExecution{WorkflowId: custody.RunWorkflow + run}
}

// closed reports whether a question of a kind takes nothing but its choices.
func closed(kind string) bool { return kind == "confirm" }

// Span is a time as people say it: 12 s, 4m, 2h, 3d.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
