package terminal

import (
	"io"
	"strings"
	"testing"
	"time"

	"agent/host/stream"
	"agent/host/terminal/terminaltest"
	"agent/recovery/journal"
)

// While a request waits to be sent again, the line of progress counts down.
func TestProgressCountsDown(t *testing.T) {
	hub := stream.NewHub()
	s := file()
	s.w = io.Discard
	r := NewRenderer(NewPrinter(s), hub, facts{})
	hub.Close()
	r.Wait()
	at := func(d time.Duration, want string) {
		t.Helper()
		if got := r.progress(began.Add(d)); !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("after %s: %q, want %q", d, got, want)
		}
	}
	r.event(testRun, journal.Event{Seq: 1, Time: began.Add(-time.Minute), Body: journal.ModelRequested{}})
	r.event(testRun, journal.Event{Seq: 2, Time: began, Body: journal.ModelFailed{Again: true, Wait: 8 * time.Second}})
	at(time.Second, " 1s  the model is asked again in 7s")
	at(6600*time.Millisecond, " 6s  the model is asked again in 1s")
	at(10*time.Second, " 10s  the model")
	r.reason(stream.Event{Run: testRun, Turn: 1, Reasoning: "hm"})
	at(11*time.Second, " 11s  the model, which thinks")
	r.event(testRun, journal.Event{Seq: 3, Time: began, Body: journal.ModelFailed{Fault: journal.FaultContext}})
	at(2*time.Second, " 2s  the model")
	r.event(testRun, journal.Event{Seq: 4, Time: began, Body: journal.ModelFailed{Fault: journal.FaultKey}})
	at(2*time.Second, "")
	r.event(testRun, journal.Event{Seq: 5, Time: began, Body: journal.ModelRequested{}})
	r.event(testRun, journal.Event{Seq: 6, Time: began, Body: journal.RunInterrupted{}})
	at(20*time.Second, "")
}

// A summary for the model is shown with what it stands for; the record keeps everything, and shows
// the summary.
func TestCompacted(t *testing.T) {
	play := func(through int) func(p *player) {
		return func(p *player) {
			p.fact(1, journal.ContextCompacted{Through: through, Summary: "We read a.\nThen b.", Before: 96_000, After: 9_000})
		}
	}
	const head = "~ older messages are now a summary for the model: "
	equal(t, asking(t, file(), false, false, play(12)),
		head+"the thread's earlier runs and turns 1 to 12, about 96,000 -> 9,000 tokens; agent show r-test has them all\n")
	equal(t, asking(t, file(), false, true, play(0)),
		head+"the thread's earlier runs, about 96,000 -> 9,000 tokens\n  │ We read a.\n  │ Then b.\n")
	for through, want := range map[int]string{0: "the thread's earlier runs", 1: "turn 1", 2: "turns 1 to 2"} {
		equal(t, summarised(through, false), want)
	}
}

// A turn took as long as the request that was answered: the wait before it, and the time without an
// owner, do not count.
func TestTurnTook(t *testing.T) {
	u := answerOf("Yes.")
	u.Usage = &journal.Usage{Input: 5, Output: 1}
	fail := journal.ModelFailed{Fault: journal.FaultStalled, Again: true, Wait: 3 * time.Second}
	for _, tt := range []struct {
		name  string
		facts []journal.Body // one each ten seconds
		want  string
	}{
		{"at once", []journal.Body{journal.ModelRequested{}, u}, "10s"},
		{"sent again", []journal.Body{journal.ModelRequested{}, fail, u}, "7s"},
		{"another owner", []journal.Body{journal.ModelRequested{}, journal.RunInterrupted{}, journal.RunClaimed{Epoch: 2}, u}, "10s"},
		{"after a summary", []journal.Body{journal.ModelRequested{}, journal.ContextCompacted{}, u}, "10s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := &terminaltest.Tape{}
			s := file()
			s.w = out
			tell := NewPrinter(s)
			tell.Whole = true
			for i, b := range tt.facts {
				tell.Fact(testRun, journal.Event{Turn: 1, Time: began.Add(time.Duration(i) * 10 * time.Second), Body: b})
			}
			if want := " turn 1, 5 tokens in, 1 out, " + tt.want + "\nYes.\n"; !strings.HasSuffix(out.String(), want) {
				t.Errorf("got %q, want %q at its end", out, want)
			}
		})
	}
}
