package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/fleet/custody"
)

// takes reports whether a question takes an answer, as far as its choices say: one may go on behind
// a choice with a reason. What else is wrong with an answer, the host finds.
func takes(q *custody.Request, text string) bool {
	if q.Kind == "ask_user" || len(q.Choices) == 0 {
		return true
	}
	return slices.ContainsFunc(q.Choices, func(c string) bool {
		return strings.EqualFold(text, c) || strings.HasPrefix(strings.ToLower(text), strings.ToLower(c)+" ")
	})
}

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
