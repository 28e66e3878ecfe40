package terminal

import (
	"strings"
	"testing"
	"time"

	"agent/host/stream"
	"agent/host/terminal/terminaltest"
	"agent/host/view"
	"agent/recovery/journal"
)

func (p *player) think(turn int, text string) {
	p.hub.Publish(stream.Event{Run: testRun, Turn: turn, Reasoning: text})
}

// answerOf is an answer of blocks in their order: a text that begins with ~ is a thought.
func answerOf(texts ...string) journal.ModelAnswered {
	a := journal.ModelAnswered{Stop: journal.AnswerEnd}
	for _, text := range texts {
		b := journal.Block{Kind: journal.BlockText, Text: text}
		if thought, ok := strings.CutPrefix(text, "~"); ok {
			b = journal.Block{Kind: journal.BlockReasoning, Text: thought}
		}
		a.Blocks = append(a.Blocks, b)
	}
	return a
}

// asking is a renderer on a screen with or without --thinking.
func asking(t *testing.T, s *Screen, thinking, whole bool, play func(p *player)) string {
	t.Helper()
	out := &terminaltest.Tape{}
	s.w = out
	hub := stream.NewHub()
	tell := NewPrinter(s)
	tell.Thinking, tell.Whole = thinking, whole
	r := NewRenderer(tell, hub, facts{testRun: {{Seq: 1, Body: journal.RunCreated{
		Run: testRun, Model: "anthropic/x", Previous: "r-0", Setup: journal.Setup{Price: &journal.Price{Input: 3e6, Output: 15e6}},
	}}}})
	play(&player{hub: hub, seq: 1})
	hub.Close()
	r.Wait()
	return strings.ReplaceAll(out.String(), "\r\x1b[K", "")
}

// What the model thinks is shown on request only: set off from its answer, as it comes on a
// terminal, when it is whole elsewhere. // issue: thinking shown dim and only on request
func TestThinking(t *testing.T) {
	play := func(p *player) {
		p.fact(1, journal.ModelRequested{})
		p.think(1, "so the fi")
		p.think(1, "rst\nthen")
		p.text(1, "The ")
		p.text(1, "answer.")
		p.fact(1, answerOf("~so the first\nthen", "The answer."))
	}
	thought := "  ┊ so the first\n  ┊ then\n"
	tests := []struct {
		name            string
		s               *Screen
		thinking, whole bool
		want            string
	}{
		{"terminal, not asked for", live(), false, false, "The answer.\n"},
		{"terminal", live(), true, false, thought + "The answer.\n"},
		{"file, not asked for", file(), false, false, ""},
		{"file", file(), true, false, thought},
		{"show, not asked for", file(), false, true, "# " + view.Stamp(began) + " turn 1\nThe answer.\n"},
		{"show", file(), true, true, "# " + view.Stamp(began) + " turn 1\n" + thought + "The answer.\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := asking(t, tt.s, tt.thinking, tt.whole, play)
			equal(t, got, tt.want)
			if !tt.thinking && strings.Contains(got, "first") {
				t.Error("a thought is shown that nobody asked for")
			}
		})
	}
}

// Thoughts are dim where there is colour, line by line, so that a reader tells them from the
// answer.
func TestThinkingIsDim(t *testing.T) {
	s := live()
	s.colour = true
	got := asking(t, s, true, false, func(p *player) {
		p.think(1, "a\nb")
		p.text(1, "c")
		p.fact(1, answerOf("~a\nb", "c"))
	})
	for _, want := range []string{"\x1b[2m  ┊ a\x1b[0m\n", "\x1b[2m  ┊ b\x1b[0m\nc\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// A model may think between two parts of its answer; each begins a line of its own, and nothing is
// shown twice.
func TestThinkingBetween(t *testing.T) {
	got := asking(t, live(), true, false, func(p *player) {
		p.text(1, "One.")
		p.think(1, "hm")
		p.text(1, "Two.")
		p.fact(1, answerOf("One.", "~hm", "Two."))
		p.think(2, "only a thought before a call")
		a := answer("", "c-1", "make")
		a.Blocks = []journal.Block{{Kind: journal.BlockReasoning, Text: "only a thought before a call"}}
		p.fact(2, a)
		p.note("next")
	})
	equal(t, got, "One.\n  ┊ hm\nTwo.\n  ┊ only a thought before a call\n· next\n")
}

// Control sequences never reach the terminal, also where they are split over pieces. // UI-06
func TestThoughtsAreSanitized(t *testing.T) {
	evil := "a\x1b]0;title\x07b\x1b[2Jc\u202ed\r\ne\xe2\x80\xaef"
	for _, s := range []*Screen{file(), live()} {
		got := asking(t, s, true, true, func(p *player) {
			for _, b := range []byte(evil) {
				p.think(1, string([]byte{b}))
			}
			p.hub.Publish(stream.Event{Run: testRun, Turn: 1, Text: "\x1b["})
			p.text(1, "31mtext\x9b2J\u2066")
			p.fact(1, journal.ModelFailed{Fault: journal.FaultServer, Detail: evil, Remedy: evil})
			p.fact(1, journal.ContextCompacted{Through: 1, Summary: evil})
			p.fact(1, answerOf("~"+evil, evil))
		})
		if i := strings.IndexAny(got, "\x1b\x07\r\u202e\u2066\u009b"); i >= 0 || !strings.Contains(got, "abcd") {
			t.Errorf("a control character at %d: %q", i, got)
		}
	}
}

// A part of an answer is no answer: it is said to be void as soon as that is known, and shown at
// the latest then. Why there is none is said with the end. // issue, behaviour 5
func TestPartialAnswer(t *testing.T) {
	again := journal.ModelFailed{Fault: journal.FaultCut, Detail: "the stream ended", Tries: 1, Again: true, Wait: 2 * time.Second}
	gone := journal.ModelFailed{Fault: journal.FaultKey, Detail: "bad key (HTTP 401)", Remedy: "set ANTHROPIC_API_KEY", Tries: 1}
	stop := journal.RunInterrupted{Cause: journal.CauseShutdown}
	const retry, resume = "! anthropic/x: answer broke off: the stream ended; asking again in 2s (try 2)\n",
		"· the answer above is partial and not kept; a resume asks again\n"
	tests := []struct {
		name string
		play func(p *player)
		tty  string
		file string
	}{
		{"Ctrl-C", func(p *player) { p.text(1, "The ans"); p.fact(0, stop) }, "The ans\n" + resume, "The ans\n" + resume},
		{"Ctrl-C before it", func(p *player) { p.fact(0, stop) }, "", ""},
		{"Ctrl-C while it thinks", func(p *player) { p.think(1, "hm"); p.fact(0, stop) }, "  ┊ hm\n", ""},
		{"cancelled", func(p *player) { p.text(1, "The ans"); p.fact(0, journal.RunCancelled{Reason: "by ann"}) },
			"The ans\n· the answer above is partial and not kept\n", "The ans\n· the answer above is partial and not kept\n"},
		{"sent again", func(p *player) {
			p.text(1, "The ans")
			p.fact(1, again)
			p.text(1, "The answer.")
			p.fact(1, answerOf("The answer."))
		}, "The ans\n" + retry + "· the answer starts over\nThe answer.\n", retry},
		{"sent again after a thought", func(p *player) {
			p.think(1, "hm")
			p.fact(1, again)
			p.think(1, "so")
			p.text(1, "The answer.")
			p.fact(1, answerOf("~so", "The answer."))
		}, "  ┊ hm\n" + retry + "  ┊ so\nThe answer.\n", retry + "  ┊ so\n"},
		{"given up", func(p *player) { p.text(1, "The ans"); p.fact(1, gone); p.fact(0, stop) },
			"The ans\n· the answer above is partial and not kept\n",
			"The ans\n· the answer above is partial and not kept\n"},
		{"a piece that is late", func(p *player) { p.text(1, "The ans"); p.fact(0, stop); p.text(1, "wer.") },
			"The ans\n" + resume, "The ans\n" + resume},
		{"another owner", func(p *player) {
			p.text(1, "The ans")
			p.fact(0, stop)
			p.fact(0, journal.RunClaimed{Epoch: 2})
			p.text(1, "The answer.")
			p.fact(1, answerOf("The answer."))
		}, "The ans\n" + resume + "The answer.\n", "The ans\n" + resume},
		{"no longer watched", func(p *player) { p.text(1, "The ans") }, "The ans\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, asking(t, wide(), true, false, tt.play), tt.tty)
			equal(t, asking(t, file(), true, false, tt.play), tt.file)
		})
	}
}

// An answer that was cut at its length goes on in the next turn: its first part is activity, not
// the answer.
func TestAnswerThatIsCut(t *testing.T) {
	cut := answerOf("The first part")
	cut.Stop = journal.AnswerLength
	play := func(p *player) {
		p.text(1, "The first part")
		p.fact(1, cut)
		p.text(2, " and the rest.")
		p.fact(2, answerOf(" and the rest."))
	}
	const said = "The first part\n· the answer reached its length limit; the model is asked to go on with it\n"
	equal(t, asking(t, wide(), false, false, play), said+" and the rest.\n")
	equal(t, asking(t, file(), false, false, play), said)
}
