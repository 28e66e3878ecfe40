package file

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/recovery/flow"
	"agent/recovery/journal"
)

// bare is a flow of two phases that say nothing, with the given lines in its flow fence.
func bare(lines string) *flow.Definition {
	p := Parse("f.md", "```flow\n"+lines+"\n```\n## first\n```phase\n```\nDo it.\n## second\n```phase\n```\nDo more.\n", Known{Named: true})
	return &p.Definition
}

// saying is the second phase of a flow, with the given lines in its fence.
func saying(lines string) *flow.Phase {
	p := Parse("f.md", "## first\n```phase\n```\nDo it.\n## second\n```phase\n"+lines+"\n```\nDo more.\n", Known{Named: true})
	return &p.Definition.Phases[1]
}

// bounds are the least and the greatest number that a key takes.
func bounds(key, beside string) string {
	fits := func(n int) bool {
		text := fmt.Sprintf("## first\n```phase\n%s = %d\n%s\n```\nDo it.\n", key, n, beside)
		if beside == "flow" {
			text = fmt.Sprintf("```flow\n%s = %d\n```\n## first\n```phase\n```\nDo it.\n", key, n)
		}
		return Parse("f.md", text, Known{Named: true}).Err() == nil
	}
	var all []int
	for n := range 200 {
		if fits(n) {
			all = append(all, n)
		}
	}
	return fmt.Sprintf("%d to %d", slices.Min(all), slices.Max(all))
}

// longestName is how many letters a name has at most.
func longestName(valid func(string) bool) string {
	n := 0
	for valid(strings.Repeat("a", n+1)) {
		n++
	}
	return fmt.Sprint(n)
}

// when is a text where something holds, and says so where it does not.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return "not " + text
}

// The manual gives every default and bound as the parser has it, and speaks of no other default.
// EX-76.
func TestManualGivesTheDefaults(t *testing.T) {
	silent, each := saying(""), saying(`each = "list.json"`)
	check := saying(`check = "true"`).Checks[0]
	output := saying(`outputs = [{ path = "x" }]`).Outputs[0]
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.Join(strings.Fields(string(text)), " ")
	for _, tt := range []struct {
		sentence string // what its groups catch is compared
		want     []string
	}{
		{"\\| `task` \\|[^|]*\\| `(.*?)` \\|", []string{string(bare("").Task)}},
		{"\\| `model` `effort` `mode` \\|[^|]*\\| (.*?) \\|", []string{when(silent.Model == "" && silent.Effort == "" && silent.Mode == "", "the run's")}},
		{"\\| `on-fail` \\|[^|]*\\| `(.*?)` \\|", []string{string(silent.OnFail)}},
		{"\\| `parallel` \\| branches of one phase at once, (.*?) \\| (.*?) \\|", []string{bounds("parallel", "flow"), fmt.Sprint(bare("").Parallel)}},
		{"\\| `max-cost` `max-tokens` `timeout` \\|[^|]*\\| (.*?) \\|", []string{when(bare("").Limits == journal.Limits{}, "no limit")}},
		{"small letters, digits and `-`, at most (\\d+)", []string{longestName(flow.ValidName)}},
		{"At most (\\d+) phases", []string{fmt.Sprint(flow.MaxPhases)}},
		{"Default: (the phase above); `\\[\\]` (starts at once)", []string{
			when(slices.Equal(silent.After, []string{"first"}), "the phase above"), when(len(saying("after = []").After) == 0, "starts at once")}},
		{"`tries`, (\\d+ to \\d+): .*? Default (\\d+), and (\\d+) for a runbook", []string{
			bounds("tries", ""), fmt.Sprint(silent.Tries), fmt.Sprint(saying(`model = "runbook"`).Tries)}},
		{"`redo`: .*?`(\\w+)` you \\(default\\)", []string{string(silent.Redo)}},
		{"`empty = (\\w+)` \\(it may be empty\\), `copy = (\\w+)` \\(no copy is kept", []string{fmt.Sprint(!output.Empty), fmt.Sprint(output.NoCopy)}},
		{"`access` \\(`read` or `write`, default `(\\w+)`\\), `timeout` \\(default `\"(\\w+)\"`\\)", []string{
			check.Access, strings.TrimSuffix(check.Timeout.Truncate(time.Second).String(), "0s")}},
		{"most `rounds` times \\(default (\\d+)\\)", []string{fmt.Sprint(silent.Rounds)}},
		{"item's name \\(at most (\\d+) letters", []string{longestName(flow.ValidItem)}},
		{"Default: (the flow's) in mode `plan`, else (\\d+)", []string{
			when((&flow.Definition{Parallel: 9}).Branches(each, journal.ModePlan) == 9, "the flow's"), fmt.Sprint(bare("").Branches(each, journal.ModeAuto))}},
	} {
		at := regexp.MustCompile(tt.sentence).FindStringSubmatchIndex(rest)
		if at == nil {
			t.Errorf("the manual does not say: %s", tt.sentence)
			continue
		}
		var says []string
		for i := 2; i < len(at); i += 2 {
			says = append(says, rest[at[i]:at[i+1]])
		}
		if !slices.Equal(says, tt.want) {
			t.Errorf("%s: the parser has %q, the manual %q", rest[at[0]:at[1]], tt.want, says)
		}
		rest = rest[:at[0]] + rest[at[1]:]
	}
	rest = strings.NewReplacer("holds defaults and limits", "", "| key | meaning | default |", "").Replace(rest)
	if left := regexp.MustCompile(`(?i).{0,60}default.{0,60}`).FindString(rest); left != "" {
		t.Errorf("nothing compares this with the parser: %s", left)
	}
}
