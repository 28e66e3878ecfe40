package file

import (
	"os"
	"slices"
	"strings"
	"testing"

	"agent/recovery/flow"
)

const manual = "../../help/flows.md"

// The manual names every key.
// EX-76.
func TestManualNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Concat(flowKeys(), phaseKeys(), outputKeys(), commandKeys()) {
		if !strings.Contains(string(text), "`"+key+"`") && !strings.Contains(string(text), "`"+key+" = ") {
			t.Errorf("the manual does not name %s", key)
		}
		if e := example(key); !strings.HasPrefix(e, key+" = ") {
			t.Errorf("the example of %s is %s", key, e)
		}
	}
}

// The file that the manual shows is a flow.
func TestManualShowsAFlow(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if inner, ok := strings.CutPrefix(line, "    "); ok || line == "" && len(lines) > 0 {
			lines = append(lines, inner)
		} else if len(lines) > 0 {
			break
		}
	}
	p := Parse("flows.md", strings.Join(lines, "\n"), Known{})
	if p.Err() != nil || len(p.Definition.Phases) != 2 {
		t.Errorf("%v: %+v", p.Err(), p.Definition.Phases)
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"output": "outputs", "ouputs": "outputs", "max_cost": "max-cost", "Mode": "mode", "modle": "model", "onfail": "on-fail", "x": "", "zebra": "", "rety": "",
		strings.Repeat("a", 100): "",
	} {
		if got := nearest(phaseKeys(), word); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// Two outputs overlap where one file could belong to both.
func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"d/", "d/x", true}, {"d/", "d", true}, {"d/", "dx", false}, {"d/", "d/e/", true}, {"d/", "e/", false},
		{"{name}.md", "x.md", true}, {"{name}.md", "x.txt", false}, {"{name}.md", "x/y.md", false}, {"a-{name}", "{name}-b", true},
		{"a/{name}", "b/{name}", false}, {"{name}/", "x/y", true}, {"{name}.md", ".md", false}, {"{name}", "x y", false}, {"{name}/a", "x/", true},
	} {
		if overlap(tt.a, tt.b) != tt.want || overlap(tt.b, tt.a) != tt.want {
			t.Errorf("%s and %s: want %v", tt.a, tt.b, tt.want)
		}
	}
}

// A graph is made from whatever phases are left, and a text of one line is a phase's whole body.
func TestNoPhases(t *testing.T) {
	r := &reader{def: &flow.Definition{}}
	if r.order() != nil {
		t.Error("an order of nothing")
	}
}
