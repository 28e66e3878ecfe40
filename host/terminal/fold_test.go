package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"agent/recovery/journal"
)

// plainLines are the lines that a terminal keeps: without those of progress.
func plainLines(tape string) []string {
	var out []string
	for l := range strings.Lines(tape) {
		if i := strings.LastIndex(l, "\x1b[K"); i >= 0 {
			l = l[i+len("\x1b[K"):]
		}
		out = append(out, strings.TrimSuffix(l, "\n"))
	}
	return out
}

// On a terminal a call that prints nothing takes one line, and long output is folded: its
// beginning, how much is left out and how to read it, its end. // issue 17, part 5
func TestTerminalFolds(t *testing.T) {
	got := shown(t, live(), func(p *player) {
		p.fact(1, answer("", "c-1", "make"))
		p.fact(1, journal.CallStarted{Place: place(1, 0)})
		p.fact(1, journal.CallSettled{Place: place(1, 0), Result: result(journal.OutcomeOK, journal.HowExecuted, "[no output]", "")})
		p.fact(1, journal.TurnSettled{})
		p.fact(2, answer("", "c-2", "make test"))
		p.fact(2, journal.CallStarted{Place: place(2, 0)})
		for i := range 100 {
			p.output(place(2, 0), fmt.Sprintln(i))
		}
		p.fact(2, journal.CallSettled{Place: place(2, 0), Result: result(journal.OutcomeOK, journal.HowExecuted, "…", "")})
	})
	want := []string{"✓ 1.0 shell: make: ok, 1.5s", "> 2.0 shell: make test"}
	for i := range foldLines {
		want = append(want, fmt.Sprint("  │ ", i))
	}
	want = append(want, "  │ … 80 lines are not shown here: agent show c-2")
	for i := range liveTail {
		want = append(want, fmt.Sprint("  │ ", 90+i))
	}
	want = append(want, "✓ 2.0 shell: ok, 1.5s")
	equal(t, strings.Join(plainLines(got), "\n"), strings.Join(want, "\n"))
}

// The first lines of a run have at most 100 columns, or as many as the terminal has. // issue 17,
// part 5
func TestHeadFits(t *testing.T) {
	for _, width := range []int{40, 80, 100, 200} {
		screen := &Screen{moves: true, width: func() int { return width }}
		got := shown(t, screen, func(p *player) {
			p.fact(0, journal.RunCreated{
				Run: testRun, Model: "anthropic/claude-test", ModelWhy: "--model", Mode: journal.ModeAuto, Limits: journal.Limits{MaxTurns: 100},
				Folder: "/home/ada/work/" + strings.Repeat("x", 15),
			})
		})
		for _, l := range plainLines(got) {
			if n := displaywidth.String(l); n > min(width, 100) && width > 40 {
				t.Errorf("at %d columns a line has %d: %s", width, n, l)
			}
		}
		words := strings.Join(strings.Fields(got), " ")
		if want := "run r-test model anthropic/claude-test (--model), mode auto, 100 turns at most, in /home/ada/work/" + strings.Repeat("x", 15) +
			" watch: agent show --follow r-test after an interruption: agent resume r-test"; words != want {
			t.Errorf("at %d columns: %s", width, words)
		}
	}
}
