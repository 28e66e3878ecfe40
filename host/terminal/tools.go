package terminal

import (
	"agent/host/view"
	"agent/recovery/journal"
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Tools lists the tools that a run has, the MCP servers, and what bounds a call.
func (t *Terminal) Tools(v view.Tools) {
	table := Table{Head: []string{"TOOL", "EFFECT", "NEEDS A YES IN", "REFUSED IN", "WHAT IT DOES"}}
	for _, tool := range v.Tools {
		name, words := tool.Name, firstSentence(tool.Description)
		for _, e := range tool.Effects {
			if e.When != "" {
				words = "the same, with " + e.When
			}
			table.Add(name, string(e.Effect), e.ModesWith(journal.DecisionAsk), e.ModesWith(journal.DecisionDeny), displaywidth.TruncateString(words, 100, "…"))
			name, words = "", "the same, where its arguments reach further"
		}
	}
	table.Write(t.Out)
	t.Say(t.Out, "\nwritten in a runbook as:")
	for _, tool := range v.Tools {
		if tool.Written != "" {
			t.Say(t.Out, "  - %s", tool.Written)
		}
	}
	t.servers(v.Servers)
	t.Say(t.Out, "\nsandbox:      %s", v.Sandbox)
	t.Say(t.Out, "environment:  %s", strings.Join(v.Environment, " "))
	if len(v.Hidden) > 0 {
		t.Say(t.Out, "not given:    %s", strings.Join(v.Hidden, " "))
	}
	t.Say(t.Out, "modes:        plan, ask, auto, yolo; what a runbook names needs no further yes, except in plan")
}

// servers lists the MCP servers; those that may not be started too.
func (t *Terminal) servers(list []view.Server) {
	if len(list) == 0 {
		return
	}
	t.Say(t.Out, "\nMCP servers:")
	table := Table{Head: []string{"SERVER", "FROM", "TRUSTED", "TOOLS", "STATE"}}
	for _, s := range list {
		trusted, state := "no", "not started"
		if s.Trusted {
			trusted = "yes"
		}
		switch {
		case s.Started:
			state = "works"
		case s.Disabled:
			state = "disabled"
		case s.Error != "":
			state = s.Error
		}
		table.Add(s.Name, s.From, trusted, fmt.Sprint(s.Tools), state)
	}
	table.Write(t.Out)
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i]
	}
	return strings.TrimSuffix(text, ".")
}

// Tool shows one tool with all that its server says of it.
func (t *Terminal) Tool(v view.Tool) {
	t.Say(t.Out, "%s", v.Name)
	if o := v.Server; o != nil {
		believed := "nothing it says of its tools is believed"
		if o.Trusted {
			believed = "trusted"
		}
		t.Say(t.Out, "  tool %q of MCP server %s (%s), pinned as %s", o.Name, o.Server, believed, o.Pin[:16])
	}
	for _, e := range v.Effects {
		t.Say(t.Out, "  %s", e.Text())
	}
	if v.Written != "" {
		t.Say(t.Out, "  in a runbook: - %s", v.Written)
	}
	t.Say(t.Out, "\n%s\n\n%s", strings.TrimSpace(v.Description), v.Schema)
}
