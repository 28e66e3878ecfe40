package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"agent/host/stream"
	"agent/recovery/journal"
)

// With eight branches of a flow at work at once each line names its run, and what their commands
// print is shown only while one of them is alone: lines of many at once say nothing.
func TestEightBranchesAtOnce(t *testing.T) {
	const branches = 8
	run := func(i int) string { return fmt.Sprintf("r-branch%d", i) }
	got := shown(t, file(), func(p *player) {
		fact := func(i int, seq int64, turn int, b journal.Body) {
			p.hub.Publish(stream.Event{Run: run(i), Fact: &journal.Event{Seq: seq, Turn: turn, Time: began, Body: b}})
		}
		say := func(i int, text string) {
			at := place(1, 0)
			p.hub.Publish(stream.Event{Run: run(i), Call: &at, Output: []byte(text)})
		}
		p.fact(0, journal.RunCreated{Run: testRun, Model: "runbook"})
		for i := range branches {
			fact(i, 1, 0, journal.RunCreated{Run: run(i), Model: "runbook", Family: journal.Family{Parent: testRun, Root: testRun, Role: fmt.Sprintf("read[%d]#1", i)}})
			fact(i, 2, 1, answer("", fmt.Sprintf("c-%d", i), fmt.Sprintf("audit %d", i)))
			fact(i, 3, 1, journal.CallStarted{Place: place(1, 0)})
		}
		for i := range branches {
			say(i, fmt.Sprintf("noise of %d\n", i))
		}
		for i := range branches - 1 {
			fact(i, 4, 1, journal.CallSettled{Place: place(1, 0), Result: result(journal.OutcomeOK, journal.HowExecuted, "ok", "")})
		}
		say(branches-1, "alone now\n")
	})
	if strings.Contains(got, "noise of") || !strings.Contains(got, "alone now") {
		t.Errorf("what is shown of outputs:\n%s", got)
	}
	for i := range branches {
		if n := strings.Count(got, fmt.Sprintf("audit %d", i)); n == 0 {
			t.Errorf("the call of branch %d is not shown:\n%s", i, got)
		}
	}
	for line := range strings.Lines(got) {
		if named := regexp.MustCompile(`^r-branch\d `).MatchString(line); !named && regexp.MustCompile(`audit|alone`).MatchString(line) {
			t.Errorf("this line names no branch: %s", line)
		}
	}
}
