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
		{"---\nagent: runbook\n---\n\n```sh\nmake\n```\n", "runbook <nil>"},
		{"---\ntitle: x\nagent: 'runbook'\n---\n", "runbook <nil>"},
		{"```sh\nmake\n```\n- read_file go.mod\n", " <nil>"},
		{"---\ntitle: x\n---\n", " <nil>"},
		{"agent: runbook", " <nil>"},
		{"--- agent: runbook", " <nil>"},
		{"", " <nil>"},
		{"---\nagent: flow\n---\n", "flow <nil>"},
		{"---\nagent: flows\n---\n", " line 2: agent: flows is not known to this version; known are agent: runbook and agent: flow"},
		{"---\nagent: runbook\nagent: flow\n---\n", " line 3: agent is given twice"},
		{"---\ntitle: x\nagent:\n---\n", " line 3: agent:  is not known to this version; known are agent: runbook and agent: flow"},
		{"---\nagent: runbook\nagent: runbook\n---\n", " line 3: agent is given twice"},
		{"---\nagent: runbook\n\n# Release\n", " line 1: the front matter is never closed: a line of three dashes ends it"},
	} {
		if named, err := input.Named(tt.text); fmt.Sprint(named, " ", err) != tt.want {
			t.Errorf("%q: %v %v, want %s", tt.text, named, err, tt.want)
		}
	}
}

// The lines to add make the prompt a runbook.
func TestNaming(t *testing.T) {
	if got := input.Naming("# Release\n", input.Runbook); !slices.Equal(got, []string{"---", "agent: runbook", "---"}) {
		t.Errorf("%q", got)
	}
	if got := input.Naming("---\ntitle: x\n---\n", input.Flow); !slices.Equal(got, []string{"agent: flow"}) {
		t.Errorf("%q", got)
	}
}
