package input_test

import (
	"fmt"
	"slices"
	"testing"

	"agent/host/input"
)

// A runbook is named as one, and never inferred from what a text looks like.
func TestNamed(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{"---\nagent: runbook\n---\n\n```sh\nmake\n```\n", "true <nil>"},
		{"---\ntitle: x\nagent: 'runbook'\n---\n", "true <nil>"},
		{"```sh\nmake\n```\n- read_file go.mod\n", "false <nil>"},
		{"---\ntitle: x\n---\n", "false <nil>"},
		{"agent: runbook", "false <nil>"},
		{"--- agent: runbook", "false <nil>"},
		{"", "false <nil>"},
		{"---\nagent: flow\n---\n", "false line 2: agent: flow is not known to this version; known is agent: runbook"},
		{"---\ntitle: x\nagent:\n---\n", "false line 3: agent:  is not known to this version; known is agent: runbook"},
		{"---\nagent: runbook\nagent: runbook\n---\n", "false line 3: agent is given twice"},
		{"---\nagent: runbook\n\n# Release\n", "false line 1: the front matter is never closed: a line of three dashes ends it"},
	} {
		if named, err := input.Named(tt.text); fmt.Sprint(named, " ", err) != tt.want {
			t.Errorf("%q: %v %v, want %s", tt.text, named, err, tt.want)
		}
	}
}

// The lines to add make the prompt a runbook.
func TestNaming(t *testing.T) {
	if got := input.Naming("# Release\n"); !slices.Equal(got, []string{"---", "agent: runbook", "---"}) {
		t.Errorf("%q", got)
	}
	if got := input.Naming("---\ntitle: x\n---\n"); !slices.Equal(got, []string{"agent: runbook"}) {
		t.Errorf("%q", got)
	}
}
