package command

import (
	"slices"
	"strings"

	"agent/recovery"
)

// saidNo reads the answer to a question that takes yes or no.
func saidNo(answer string) bool {
	return slices.Contains([]string{"no", "n", "false"}, strings.ToLower(strings.Trim(strings.TrimSpace(answer), `"`)))
}

func outcomeMark(o recovery.Outcome) (style, string) {
	switch o {
	case recovery.OutcomeOK:
		return green, "✓"
	case recovery.OutcomeError:
		return red, "✗"
	case recovery.OutcomeUnknown:
		return yellow, "?"
	}
	return yellow, "-"
}
