package terminal

import (
	"fmt"
	"slices"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// compacted prints that a summary stands for older messages from now on.
func (t *Printer) compacted(run string, b journal.ContextCompacted) {
	text := "older messages are now a summary for the model: " + summarised(b.Through, t.of(run).thread)
	if b.Before > 0 || b.After > 0 {
		text += fmt.Sprintf(", about %s -> %s tokens", view.Number(b.Before), view.Number(b.After))
	}
	if !t.Whole {
		t.Line(Yellow, "~", text+"; agent show "+run+" has them all")
		return
	}
	t.Line(Yellow, "~", text)
	t.Block(b.Summary)
}

// summarised says what a summary stands for.
func summarised(through int, thread bool) string {
	var of []string
	if thread || through == 0 {
		of = append(of, "the thread's earlier runs")
	}
	switch {
	case through == 1:
		of = append(of, "turn 1")
	case through > 1:
		of = append(of, fmt.Sprintf("turns 1 to %d", through))
	}
	return strings.Join(of, " and ")
}

// isNo reads the answer to a question that takes yes or no.
func isNo(answer string) bool {
	return slices.Contains([]string{"no", "n", "false"}, strings.ToLower(strings.Trim(strings.TrimSpace(answer), `"`)))
}

func outcomeMark(o journal.Outcome) (Style, string) {
	switch o {
	case journal.OutcomeOK:
		return Green, "✓"
	case journal.OutcomeError:
		return Red, "✗"
	case journal.OutcomeUnknown:
		return Yellow, "?"
	}
	return Yellow, "-"
}
