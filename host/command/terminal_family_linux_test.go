package command_test

import (
	"strings"
	"testing"
)

// twoAsk is a flow with two phases beside each other that ask, and one with a question before it.
const twoAsk = `---
agent: flow
---
` + "```flow\nmodel = \"runbook\"\n```\n" +
	"## left\n```phase\n```\n- confirm_action \"Go left?\"\n\n```sh\necho left >> out\n```\n" +
	"## right\n```phase\nafter = []\n```\n- confirm_action \"Go right?\"\n\n```sh\necho right >> out\n```\n" +
	"## last\n```phase\nafter = [\"left\", \"right\"]\nask = \"Go on?\"\n```\n```sh\necho last >> out\n```\n"

// A question of a phase says whose it is, and at a terminal that only watches the flow the phases
// are shown and their questions put, one at a time, as where it is driven (flows, section 9).
func TestAttachToAFlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("flow.md", twoAsk)
	s := sit(t, w, "", "run", "--detach", "-f", "flow.md")
	s.exits(0)
	a := sit(t, w, "", "attach", "last")
	for n := 1; n <= 3; n++ { // the two phases ask at once, and one question stands at a time
		a.untilTimes("answer (yes/no): ", n)
		a.types("yes\n")
	}
	a.exits(0)
	a.until("completed")
	screen := a.screen()
	for _, want := range []string{"(left#1) asks:", "(right#1) asks:", "> left (r-", "✓ left", "✓ right", "shell: echo left >> out  [a step"} {
		if strings.Count(screen, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(screen, want), screen)
		}
	}
}
