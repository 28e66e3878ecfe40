package terminal

import (
	"fmt"
	"strings"

	"agent/host/stream"
	"agent/host/view"
)

// Next prints the commands that bring the run forward; not the one that was just given.
func (t *Printer) Next(v view.Run) {
	for _, c := range v.Next {
		if c != "agent show "+v.ID {
			t.Line(Bold, "next:", c)
		}
	}
}

// Pair prints a name and a value.
func (t *Printer) Pair(name, value string) {
	value = strings.ReplaceAll(stream.Sanitize(value), "\n", "\n"+strings.Repeat(" ", 12))
	t.print(strings.TrimRight(t.out.paint(Dim, fmt.Sprintf("  %-8s", name))+"  "+value, " "))
}

// CallHead prints what is known of a call but its output.
func (t *Printer) CallHead(c view.CallDetail) {
	st, mark := Dim, "·"
	if c.Settled {
		st, mark = outcomeMark(c.Outcome)
	}
	t.Line(st, mark, c.Title)
	for _, p := range c.Pairs {
		t.Pair(p.Name, p.Value)
	}
	t.Pair("arguments", "")
	t.Block(c.Arguments)
}

// CallResult prints a part of a call's result, and how to read all of it.
func (t *Printer) CallResult(c view.CallDetail) {
	t.Pair("result", "")
	t.Block(c.Result)
	if c.Unknown != "" {
		t.Line(Yellow, "!", c.Unknown)
	}
	t.Pair("whole", c.Whole)
}
