package recovery

import (
	"agent/recovery/journal"
	"strings"
	"testing"
	"time"
)

// MOD-06: what asking again can fix is asked again, a bounded number of times, later each time, and
// no sooner than the provider wants; a longer wait than a person would sit through is left to the
// person.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		fault  journal.Fault
		tries  int
		after  time.Duration
		chance float64
		wait   time.Duration
		again  bool
	}{
		{journal.FaultRateLimit, 1, 0, 0, time.Second, true},
		{journal.FaultRateLimit, 1, 20 * time.Second, 0, 20 * time.Second, true},
		{journal.FaultRateLimit, 1, 6 * time.Minute, 0, 0, false},
		{journal.FaultOverloaded, 4, 0, 0, 8 * time.Second, true},
		{journal.FaultOverloaded, 4, 0, 0.5, 7 * time.Second, true},
		{journal.FaultServer, 7, 0, 0, time.Minute, true},
		{journal.FaultServer, 8, 0, 0, 0, false},
		{journal.FaultNetwork, 4, 0, 0, 8 * time.Second, true},
		{journal.FaultCut, 5, 0, 0, 0, false},
		{journal.FaultGarbage, 1, 0, 0, time.Second, true},
		{journal.FaultTooLarge, 2, 0, 0, 0, false},
		{journal.FaultKey, 1, 0, 0, 0, false},
		{journal.FaultNoKey, 1, 0, 0, 0, false},
		{journal.FaultCredit, 1, 0, 0, 0, false},
		{journal.FaultNoModel, 1, 0, 0, 0, false},
		{journal.FaultRequest, 1, 0, 0, 0, false},
		{journal.FaultContext, 1, 0, 0, 0, false},
		{journal.FaultFiltered, 1, 0, 0, 0, false},
	} {
		if wait, again := Retry(c.fault, c.tries, c.after, c.chance); wait != c.wait || again != c.again {
			t.Errorf("%s, %d tries, after %s, chance %v: %s %v, not %s %v", c.fault, c.tries, c.after, c.chance, wait, again, c.wait, c.again)
		}
	}
}

// CTX-03: a summary stands for the thread's earlier runs as well, for this run and for those after
// it.
func TestSummaryStandsForEarlierRuns(t *testing.T) {
	user := func(text string) journal.Message {
		return journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}
	}
	s := &State{Earlier: []journal.Message{user("long ago")}}
	for i, b := range []journal.Body{
		journal.RunCreated{Run: "r-1", Prompt: "now", Model: "m", Mode: journal.ModeAsk, Setup: journal.Setup{Provider: "chat", Window: 100}},
		journal.RunClaimed{Epoch: 1}, journal.ModelRequested{},
	} {
		if err := s.Apply(journal.Event{Seq: int64(i + 1), Turn: i / 2, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	if before, alone := s.Transcript(); alone || len(before) != 1 || len(s.Messages()) != 2 {
		t.Fatalf("before the summary: %v, alone %v; shown %v", before, alone, s.Messages())
	}
	if err := s.Apply(journal.Event{Seq: 4, Body: journal.ContextCompacted{Through: 0, Summary: "long ago there was a prompt"}}); err != nil {
		t.Fatal(err)
	}
	shown := s.Messages()
	if len(shown) != 1 || len(shown[0].Blocks) != 2 || !strings.Contains(shown[0].Blocks[0].Text, "there was a prompt") || shown[0].Blocks[1].Text != "now" {
		t.Errorf("the model is shown %+v", shown)
	}
	if after, alone := s.Transcript(); !alone || len(after) != 1 {
		t.Errorf("the thread goes on with %+v, alone %v", after, alone)
	}
	if err := s.Apply(journal.Event{Seq: 5, Body: journal.ContextCompacted{Through: 0, Summary: "again"}}); err == nil {
		t.Error("a summary of nothing new was taken")
	}
}
