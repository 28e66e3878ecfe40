package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/stream"
	"agent/host/terminal/terminaltest"
	"agent/host/view"
	"agent/recovery/journal"
)

// facts is a journal in memory.
type facts map[string][]journal.Event

func (f facts) Load(_ context.Context, run string, from int64) iter.Seq2[journal.Event, error] {
	return func(yield func(journal.Event, error) bool) {
		for _, e := range f[run] {
			if e.Seq > from && !yield(e, nil) {
				return
			}
		}
	}
}

func (f facts) Before(context.Context, string, int) (int64, error) { return 0, nil }

const testRun = "r-test"

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func command(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"command": text})
	return b
}

func place(turn, index int) journal.Place {
	return journal.Place{Turn: turn, Index: index, Attempt: 1}
}

// answer is a turn of the model that asks for one command.
func answer(text, id, cmd string) journal.ModelAnswered {
	return journal.ModelAnswered{
		Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}, Stop: journal.AnswerCalls,
		Calls: []journal.Proposal{{ID: id, Tool: "shell", Args: command(cmd)}},
	}
}

func result(o journal.Outcome, how journal.How, content, data string) journal.Result {
	return journal.Result{Outcome: o, How: how, Content: content, Data: json.RawMessage(data), Took: 1500 * time.Millisecond}
}

// player publishes events of one run, numbered.
type player struct {
	hub *stream.Hub
	seq int64
}

func (p *player) fact(turn int, b journal.Body) {
	p.seq++
	p.hub.Publish(stream.Event{Run: testRun, Fact: &journal.Event{Seq: p.seq, Turn: turn, Time: began, Body: b}})
}

func (p *player) output(at journal.Place, text string) {
	p.hub.Publish(stream.Event{Run: testRun, Call: &at, Output: []byte(text)})
}

func (p *player) text(turn int, text string) {
	p.hub.Publish(stream.Event{Run: testRun, Turn: turn, Text: text})
}

func (p *player) note(text string) {
	p.hub.Publish(stream.Event{Run: testRun, Note: text})
}

// shown plays events to a renderer on a screen and returns what it wrote.
func shown(t *testing.T, s *Screen, play func(p *player)) string {
	t.Helper()
	out := &terminaltest.Tape{}
	s.w = out
	hub := stream.NewHub()
	r := NewRenderer(NewPrinter(s), hub, facts{})
	play(&player{hub: hub})
	hub.Close()
	r.Wait()
	return out.String()
}

func file() *Screen { return &Screen{width: func() int { return 80 }} }

func live() *Screen { return &Screen{moves: true, width: func() int { return 40 }} }

// wide is a terminal on which no line of these tests has to be broken.
func wide() *Screen { return &Screen{moves: true, width: func() int { return 100 }} }

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What a run does is shown in lines: the head, what the model says, each call with its output and
// its end. // STR-02
func TestActivity(t *testing.T) {
	got := shown(t, file(), func(p *player) {
		p.fact(0, journal.RunCreated{
			Run: testRun, Model: "runbook", ModelWhy: "--model", Mode: journal.ModeAsk, Folder: "/w", Limits: journal.Limits{MaxTurns: 100},
		})
		p.fact(0, journal.ModelRequested{})
		p.text(1, "# Bui") // not on a terminal: shown when it is whole
		p.fact(1, answer("# Build", "c-1", "make"))
		p.fact(1, journal.CallStarted{Place: place(1, 0)})
		p.output(place(1, 0), "compi")
		p.output(place(1, 0), "ling\nlink")
		p.output(place(1, 0), "ing")
		p.fact(1, journal.CallSettled{Place: place(1, 0), Result: result(journal.OutcomeOK, journal.HowExecuted, "compiling\nlinking", "")})
		p.fact(1, journal.TurnSettled{})
		p.fact(2, answer("", "c-2", "make test"))
		p.fact(2, journal.CallStarted{Place: place(2, 0)})
		p.output(place(2, 0), "FAIL\n")
		p.fact(2, journal.CallSettled{Place: place(2, 0), Result: result(journal.OutcomeError, journal.HowExecuted,
			"FAIL\nexit status 2", `{"status":2,"cause":"exited"}`)})
		p.note("a word of the host")
		p.fact(3, journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: "the answer"}}, Stop: journal.AnswerEnd})
	})
	equal(t, got, `run r-test  model runbook (--model), mode ask, 100 turns at most, in /w
  watch: agent show --follow r-test   after an interruption: agent resume r-test
# Build
> 1.0 shell: make
  │ compiling
  │ linking
✓ 1.0 shell: ok, 1.5s
> 2.0 shell: make test
  │ FAIL
✗ 2.0 shell: exit status 2, 1.5s
· a word of the host
`)
}

// An outcome that is unknown is said once as it is decided, with what of it may still run; the end
// of the run says how to decide. // TOOL-05
func TestUnknownOutcome(t *testing.T) {
	unknown := result(journal.OutcomeUnknown, journal.HowTold, "outcome unknown: …", "")
	unknown.Took, unknown.Alive = 0, []string{"process 7 make"}
	got := shown(t, file(), func(p *player) {
		p.fact(1, answer("", "c-1", "make"))
		p.fact(1, journal.CallJudged{Place: place(1, 0), Verdict: journal.VerdictSkip, Reason: "outcome unknown: its runner is gone"})
		p.fact(1, journal.CallSettled{Place: place(1, 0), Result: unknown})
		p.fact(1, journal.CallResolved{Place: place(1, 0), Word: journal.WordHappened, By: "ann"})
	})
	equal(t, got, `~ 1.0 shell: make: outcome unknown, not executed again (its runner is gone)
! shell: make may still be running: process 7 make
~ 1.0 shell: make: ann says: happened
`)
}

// A plan and the decisions that carry it out are shown in the same words.
func TestPlanAndDecisionsAgree(t *testing.T) {
	for _, v := range []journal.Verdict{
		journal.VerdictReplay, journal.VerdictWait, journal.VerdictSkip, journal.VerdictRun, journal.VerdictAgain,
		journal.VerdictAttach, journal.VerdictAdopt,
	} {
		var plan bytes.Buffer
		s := file()
		s.w = &plan
		NewPrinter(s).planSteps(view.Plan{Steps: []view.PlanStep{{Turn: 1, Tool: "shell", Summary: "make", Verdict: v, Reason: "why"}}})
		decided := shown(t, file(), func(p *player) {
			p.fact(1, answer("", "c-1", "make"))
			p.fact(1, journal.CallJudged{Place: place(1, 0), Verdict: v, Reason: "why"})
		})
		equal(t, decided, plan.String())
		if strings.Contains(plan.String(), ": "+string(v)+" ") && v != journal.VerdictRun {
			t.Errorf("verdict %s is not worded: %s", v, plan.String())
		}
	}
}

// On a terminal the answer is shown as it comes, and its fact repeats nothing of it. // STR-13
func TestTextIsShownOnce(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		full   string
		want   string
	}{
		{"all of it came", []string{"one ", "two"}, "one two", "one two\n"},
		{"the end is missing", []string{"one "}, "one two", "one two\n"},
		{"blocks are joined by a line break", []string{"one", "two"}, "one\ntwo", "onetwo\n"},
		{"pieces were missed", []string{"one", "three"}, "one two three", "onethree\none two three\n"},
		{"a character in two pieces", []string{"\xe2\x9c", "\x93 done"}, "✓ done", "✓ done\n"},
		{"a control sequence in two pieces", []string{"a\x1b[3", "1mb"}, "a\x1b[31mb", "ab\n"},
		{"nothing came", nil, "one", ""}, // the answer of a run that is done: printed by who reports it
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := shown(t, live(), func(p *player) {
				for _, piece := range tt.pieces {
					p.text(1, piece)
				}
				p.fact(1, journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: tt.full}}, Stop: journal.AnswerEnd})
				p.text(1, "late") // a piece that another file brought after the fact
			})
			equal(t, got, tt.want)
		})
	}
}

// Control sequences of models and tools never reach the terminal, whatever they come in. // UI-06
// EN-59.
func TestEverythingIsSanitized(t *testing.T) {
	evil := "\x1b]0;title\x07\x1b[2Jx\u202e"
	for _, s := range []*Screen{file(), live()} {
		got := shown(t, s, func(p *player) {
			p.fact(0, journal.RunCreated{Run: testRun, Model: evil, ModelWhy: evil, Folder: evil})
			p.text(1, evil)
			p.fact(1, answer(evil, "c-1", evil))
			p.fact(1, journal.CallStarted{Place: place(1, 0)})
			p.output(place(1, 0), "\x1b")
			p.output(place(1, 0), "[31m"+evil)
			p.fact(1, journal.CallJudged{Place: place(1, 0), Verdict: journal.VerdictSkip, Reason: evil})
			p.fact(1, journal.CallSettled{Place: place(1, 0), Result: result(journal.OutcomeError, journal.HowExecuted, evil, "")})
			p.fact(1, journal.RunNoted{Text: evil})
			p.fact(1, journal.RunStopping{Reason: evil})
			p.fact(1, journal.RequestAnswered{ID: "p-1", By: evil, Answer: json.RawMessage(`"\u001b[31m"`)})
			p.note(evil)
		})
		got = strings.ReplaceAll(got, "\r\x1b[K", "") // how the line of progress is erased
		if i := strings.IndexAny(got, "\x1b\x07\u202e"); i >= 0 {
			t.Errorf("a control character at %d: %q", i, got)
		}
	}
}

// The line of progress is erased before anything else is written, and none stands where text is
// open. // issue: a spinner only on a terminal
func TestProgressLine(t *testing.T) {
	var b bytes.Buffer
	s := live()
	s.w = &b
	s.Show("working on something that is longer than the line")
	s.Show("")
	s.Show("on")
	s.print("a line")
	s.stream("open")
	s.Show("not now")
	s.print("next")
	equal(t, b.String(), "working on something that is longer th…\r\x1b[Kon\r\x1b[Ka line\nopen\nnext\n")

	b.Reset()
	f := file()
	f.w = &b
	f.Show("never in a file")
	f.print(f.paint(Red, "a line"))
	equal(t, b.String(), "a line\n")
}

// What is waited for is named once it has taken a moment, with the time it has taken.
func TestProgressNamesWhatRuns(t *testing.T) {
	hub := stream.NewHub()
	s := file()
	s.w = io.Discard
	r := NewRenderer(NewPrinter(s), hub, facts{})
	hub.Close()
	r.Wait()
	if got := r.progress(began); got != "" {
		t.Errorf("nothing runs: %q", got)
	}
	r.event(testRun, journal.Event{Seq: 1, Time: began, Body: journal.ModelRequested{}})
	if got := r.progress(began.Add(3 * time.Second)); !strings.HasSuffix(got, " 3s  the model") {
		t.Errorf("the model is asked: %q", got)
	}
	r.event(testRun, journal.Event{Seq: 2, Turn: 1, Time: began, Body: answer("", "c-1", "make")})
	r.event(testRun, journal.Event{Seq: 3, Turn: 1, Time: began, Body: journal.CallStarted{Place: place(1, 0)}})
	if got := r.progress(began.Add(100 * time.Millisecond)); got != "" {
		t.Errorf("too soon: %q", got)
	}
	if got := r.progress(began.Add(65 * time.Second)); !strings.HasSuffix(got, " 1m5s  shell: make") {
		t.Errorf("a call runs: %q", got)
	}
}

// gate is a writer that lets nothing pass until it is opened.
type gate struct {
	terminaltest.Tape
	entered chan struct{}
	once    sync.Once
	opened  chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.entered) })
	<-g.opened
	return g.Tape.Write(p)
}

// busy is a journal that grows while it is read.
type busy struct {
	facts
	grow func()
}

func (b busy) Load(ctx context.Context, run string, from int64) iter.Seq2[journal.Event, error] {
	if from > 0 { // not where the beginning of the run is looked up
		b.grow()
	}
	return b.facts.Load(ctx, run, from)
}

// A terminal that was too slow goes on from the record: every fact is shown, once and in order, one
// that is recorded meanwhile included. // STR-01
func TestSlowTerminalMissesNoFact(t *testing.T) {
	g := &gate{entered: make(chan struct{}), opened: make(chan struct{})}
	s := file()
	s.w = g
	hub := stream.NewHub()
	const n = 3 * queue
	j := facts{}
	publish := func(e journal.Event) {
		hub.Publish(stream.Event{Run: testRun, Fact: &e})
	}
	add := func(text string) {
		e := journal.Event{Seq: int64(len(j[testRun]) + 1), Time: began, Body: journal.RunNoted{Text: text}}
		j[testRun] = append(j[testRun], e)
		publish(e)
	}
	r := NewRenderer(NewPrinter(s), hub, busy{j, func() { add("meanwhile") }})
	for i := range n {
		j[testRun] = append(j[testRun], journal.Event{Seq: int64(i + 1), Time: began, Body: journal.RunNoted{Text: fmt.Sprint("note ", i)}})
	}
	publish(j[testRun][0])
	<-g.entered // the renderer stands in its first line
	for _, e := range j[testRun][1:] {
		publish(e)
	}
	close(g.opened)
	if err := r.CaughtUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	add("the last")
	hub.Close()
	r.Wait()
	lines := strings.Split(strings.TrimSuffix(g.String(), "\n"), "\n")
	if len(lines) != n+2 || lines[n] != "! meanwhile" || lines[n+1] != "! the last" {
		t.Fatalf("%d lines, want %d; the last: %q", len(lines), n+2, lines[len(lines)-2:])
	}
	for i, l := range lines[:n] {
		if l != fmt.Sprint("! note ", i) {
			t.Fatalf("line %d: %q", i, l)
		}
	}
}

// broken is a writer whose reader has gone.
type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("broken pipe")
}

// A reader that went away stops the showing, and nothing waits for it. // issue, behaviour 8
func TestReaderThatLeft(t *testing.T) {
	b := &broken{}
	s := file()
	s.w = b
	hub := stream.NewHub()
	r := NewRenderer(NewPrinter(s), hub, facts{})
	p := &player{hub: hub}
	for range 10 {
		p.note("something")
	}
	if err := r.CaughtUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	hub.Close()
	r.Wait()
	if b.writes != 1 || !s.Closed() {
		t.Errorf("%d writes, left: %v", b.writes, s.Closed())
	}
}

// Who asks at the terminal has it alone: everything before is shown, and nothing more until it is
// given back. // PEND-01
func TestAloneOnTheTerminal(t *testing.T) {
	out := &terminaltest.Tape{}
	s := live()
	s.w = out
	hub := stream.NewHub()
	r := NewRenderer(NewPrinter(s), hub, facts{})
	p := &player{hub: hub}
	for i := range 100 {
		p.note(fmt.Sprint("before ", i))
	}
	release, err := r.Alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "· before 99\n") {
		t.Errorf("not everything was shown: %q", out.String())
	}
	length := len(out.String())
	p.note("meanwhile")
	if r.mu.TryLock() || len(out.String()) != length {
		t.Fatalf("something can be shown meanwhile: %q", out.String()[length:])
	}
	release()
	hub.Close()
	r.Wait()
	equal(t, out.String()[length:], "· meanwhile\n")
}

// Nobody waits for ever for a terminal that shows nothing any more.
func TestAloneEndsWithItsContext(t *testing.T) {
	g := &gate{entered: make(chan struct{}), opened: make(chan struct{})}
	s := file()
	s.w = g
	hub := stream.NewHub()
	r := NewRenderer(NewPrinter(s), hub, facts{})
	(&player{hub: hub}).note("stuck")
	<-g.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Alone(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(g.opened)
	hub.Close()
	r.Wait()
}

// A call whose answer was not seen here is named from the record.
func TestCallsOfAnEarlierOwnerAreNamed(t *testing.T) {
	s := file()
	out := &terminaltest.Tape{}
	s.w = out
	hub := stream.NewHub()
	j := facts{testRun: {{Seq: 1, Turn: 1, Time: began, Body: answer("", "c-1", "make")}}}
	r := NewRenderer(NewPrinter(s), hub, j)
	p := &player{hub: hub, seq: 1}
	p.fact(1, journal.CallJudged{Place: place(1, 0), Verdict: journal.VerdictAttach, Reason: "its lock is held"})
	hub.Close()
	r.Wait()
	equal(t, out.String(), "~ 1.0 shell: make: picked up, still running (its lock is held)\n")
}
