package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// longRun is a journal of a run of so many turns, with one call each that acts.
func longRun(turns int) []journal.Event {
	text := strings.Repeat("what it printed\n", 64) // 1 KiB
	bodies := []journal.Body{
		journal.RunCreated{Run: "r-1", Thread: "t-1", Prompt: "do it", Folder: "/w", Model: "m", Mode: journal.ModeYolo},
		journal.RunClaimed{Epoch: 1, PID: 1},
	}
	ends := []int{0, 0}
	for n := 1; n <= turns; n++ {
		at := journal.Place{Turn: n, Attempt: 1}
		args := json.RawMessage(fmt.Sprintf(`{"command":"make step-%d"}`, n))
		fp := fmt.Sprintf("fp-%d", n)
		bodies = append(bodies,
			journal.ModelRequested{},
			journal.ModelAnswered{Stop: journal.AnswerCalls, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "I go on."}}, Calls: []journal.Proposal{{
				ID: fmt.Sprintf("c-%d", n), Tool: "shell", Args: args, Fingerprint: fp, Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow,
			}}},
			journal.CallStarted{Place: at},
			journal.CallSettled{Place: at, Fingerprint: fp, Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: text}},
			journal.TurnSettled{Checkpoint: fmt.Sprintf("r-1@%d", n)},
		)
		ends = append(ends, n, n, n, n, n)
	}
	events := make([]journal.Event, len(bodies))
	for i, b := range bodies {
		events[i] = journal.Event{Seq: int64(i) + 1, Turn: ends[i], Time: time.Unix(int64(i), 0).UTC(), Body: b}
	}
	return events
}

// The fold of 30,000 facts, which is what stands between a kill and the next action beside reading
// and decoding them.
func BenchmarkFold30000Facts(b *testing.B) {
	events := longRun(6000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Fold(events); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/fact")
}

// Decoding the same facts: the limit that the fold is measured against.
func BenchmarkDecode30000Facts(b *testing.B) {
	events := longRun(6000)
	texts := make([][]byte, len(events))
	size := 0
	for i, e := range events {
		texts[i] = encodeBody(b, e.Body)
		size += len(texts[i])
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for i, e := range events {
			if _, err := journal.Decode(e.Body.Kind(), journal.Version, texts[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// One turn of a long run: the facts, the decisions between them, and what the model is shown.
func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("after_%d", turns), func(b *testing.B) {
			events := longRun(turns + 1)
			head, tail := events[:len(events)-5], events[len(events)-5:]
			s, err := Fold(head)
			if err != nil {
				b.Fatal(err)
			}
			s.Messages()
			shown := s.shown
			b.ReportAllocs()
			for b.Loop() {
				oneTurn(b, s, tail)
				s = undo(s, head, shown)
			}
		})
	}
}

func oneTurn(b *testing.B, s *State, tail []journal.Event) {
	for _, e := range tail {
		Next(s)
		if err := s.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	s.Messages()
}

// undo takes the last turn back, so that the same turn can be measured again; shown is what was
// kept of the messages before it.
func undo(s *State, head []journal.Event, shown transcript.Transcript) *State {
	s.Turns = s.Turns[:len(s.Turns)-1]
	s.Seq, s.Requested, s.last = int64(len(head)), len(s.Turns), head[len(head)-1].Time
	s.shown = shown
	return s
}

// What a turn costs does not grow with the run: the same work after 10 turns and after 10,000, but
// for longer numbers in texts.
func TestCostPerTurnIsFlat(t *testing.T) {
	cost := func(turns int) float64 {
		events := longRun(turns + 1)
		head, tail := events[:len(events)-5], events[len(events)-5:]
		s, err := Fold(head)
		if err != nil {
			t.Fatal(err)
		}
		s.Messages()
		shown := s.shown
		return testing.AllocsPerRun(20, func() {
			for _, e := range tail {
				Next(s)
				if err := s.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			s.Messages()
			s.UnknownCalls()
			s = undo(s, head, shown)
		})
	}
	if short, long := cost(10), cost(10000); long > short+4 {
		t.Errorf("a turn makes %.0f allocations after 10 turns and %.0f after 10,000", short, long)
	}
}
