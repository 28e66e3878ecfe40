package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
	"testing"
)

// row is a row of the table of verdicts, in the order in which they are tried.
type row struct {
	says    string
	matches func(c *Call, open *journal.Request, e Evidence) bool
	verdict journal.Verdict
	result  string // what the result that goes with it says; "" for none
}

func never(c *Call, e Evidence) bool {
	return c.Phase == journal.PhaseProposed || e.Process.State == ProcessNever && (e.Doubt == "" || e.Process.Refused)
}

func rows() []row {
	return []row{
		{"result recorded", func(c *Call, _ *journal.Request, _ Evidence) bool {
			return c.Result != nil
		}, journal.VerdictReplay, "recorded"},
		{"a pending request stands for it", func(c *Call, open *journal.Request, _ Evidence) bool {
			return open != nil && *open.Call == journal.Place{Turn: c.Turn, Index: c.Index}
		}, journal.VerdictWait, ""},
		{"never started, and it cannot be made", func(c *Call, _ *journal.Request, e Evidence) bool {
			return never(c, e) && (!e.Restored || !e.ToolKnown)
		}, journal.VerdictSkip, "not executed: "},
		{"never started", func(c *Call, _ *journal.Request, e Evidence) bool {
			return never(c, e)
		}, journal.VerdictRun, ""},
		{"its process is still running", func(_ *Call, _ *journal.Request, e Evidence) bool {
			return e.Process.State == ProcessRunning
		}, journal.VerdictAttach, ""},
		{"its process ended and left a record", func(_ *Call, _ *journal.Request, e Evidence) bool {
			return e.Process.State == ProcessEnded && e.Process.Result != nil
		}, journal.VerdictAdopt, "from its record"},
		{"the tool sees that it happened", func(_ *Call, _ *journal.Request, e Evidence) bool {
			return e.Inspection.Answer == InspectionHappened
		}, journal.VerdictAdopt, "from a look"},
		{"read or retry-safe, then and now", func(c *Call, _ *journal.Request, e Evidence) bool {
			reads := c.Effect == journal.EffectRead && e.EffectNow == journal.EffectRead
			return e.Restored && e.ToolKnown && (reads || c.RetrySafe && e.RetryNow)
		}, journal.VerdictAgain, ""},
		{"the tool sees that it did not happen", func(_ *Call, _ *journal.Request, e Evidence) bool {
			return e.Restored && e.ToolKnown && e.Inspection.Answer == InspectionNotHappened
		}, journal.VerdictRun, ""},
		{"anything else", func(*Call, *journal.Request, Evidence) bool {
			return true
		}, journal.VerdictSkip, "outcome unknown: "},
	}
}

// RUN-12, TOOL-02, TOOL-05: every combination of record and evidence gets the verdict of the first
// row that matches, with a reason, and each row is the first for some.
func TestEveryVerdict(t *testing.T) {
	used := map[string]int{}
	everyCase(func(c *Call, open *journal.Request, e Evidence) {
		for _, r := range rows() {
			if !r.matches(c, open, e) {
				continue
			}
			used[r.says]++
			j := Judge(c, open, e)
			if j.Verdict != r.verdict || j.Reason == "" {
				t.Fatalf("%s: %s since %q, want %s\n%+v\n%+v", r.says, j.Verdict, j.Reason, r.verdict, *c, e)
			}
			content := ""
			if j.Result != nil {
				content = j.Result.Content
			}
			if !strings.HasPrefix(content, r.result) || (r.result == "") != (j.Result == nil) {
				t.Fatalf("%s: the result says %q, want %q", r.says, content, r.result)
			}
			if j.Verdict == journal.VerdictRun || j.Verdict == journal.VerdictAgain {
				mayRun(t, c, e)
			}
			return
		}
	})
	for _, r := range rows() {
		if used[r.says] == 0 {
			t.Errorf("no case is decided by the row %q", r.says)
		}
	}
}

// mayRun says it once more in words that are nearer to the promise: what is run again did not
// happen, or does no harm.
func mayRun(t *testing.T, c *Call, e Evidence) {
	t.Helper()
	harmless := c.Effect == journal.EffectRead && e.EffectNow == journal.EffectRead || c.RetrySafe && e.RetryNow
	proof := never(c, e) || e.Inspection.Answer == InspectionNotHappened
	if !harmless && !proof || !e.Restored || !e.ToolKnown {
		t.Fatalf("it may have happened, and is run again:\n%+v\n%+v", *c, e)
	}
}

func everyCase(try func(c *Call, open *journal.Request, e Evidence)) {
	both := []bool{false, true}
	at, other := journal.Place{Turn: 2, Index: 1}, journal.Place{Turn: 2, Index: 2}
	opens := []*journal.Request{nil, {ID: "p-1", Call: &other}, {ID: "p-2", Call: &at}}
	record := &journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "from its record"}
	look := &journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "from a look"}
	sightings := []ProcessEvidence{
		{}, {State: ProcessNever}, {State: ProcessNever, Refused: true}, {State: ProcessRunning}, {State: ProcessEnded, Result: record}, {State: ProcessEnded}, {State: ProcessLost},
	}
	looks := []Inspection{
		{}, {Answer: InspectionHappened, Result: look}, {Answer: InspectionNotHappened}, {Answer: InspectionUnclear},
	}
	effects := []journal.Effect{journal.EffectRead, journal.EffectWriteLocal, journal.EffectWriteExternal}
	for i := range 3 * 3 * 7 * 4 * 3 * 3 * 32 {
		n := i
		choose := func(k int) int { j := n % k; n /= k; return j }
		c := &Call{Place: journal.Place{Turn: 2, Index: 1, Attempt: 1}, Proposal: &journal.Proposal{Tool: "tool"}}
		switch choose(3) {
		case 0:
			c.Phase, c.Attempt = journal.PhaseProposed, 0
		case 1:
			c.Phase = journal.PhaseStarted
		case 2:
			c.Phase, c.Result = journal.PhaseSettled, &journal.Result{Content: "recorded"}
		}
		open := opens[choose(3)]
		e := Evidence{Process: sightings[choose(7)], Inspection: looks[choose(4)]}
		c.Effect, e.EffectNow = effects[choose(3)], effects[choose(3)]
		c.RetrySafe, e.RetryNow, e.Restored, e.ToolKnown = both[choose(2)], both[choose(2)], both[choose(2)], both[choose(2)]
		e.Doubt = []string{"", "the disk failed"}[choose(2)]
		try(c, open, e)
	}
}

// Where a result was found is part of it, whatever the tool called it; an error that leaves the
// effect open is unknown.
func TestAdoptedResults(t *testing.T) {
	c := &Call{Phase: journal.PhaseStarted, Proposal: &journal.Proposal{Effect: journal.EffectWriteExternal}}
	for _, test := range []struct {
		found   journal.Result
		outcome journal.Outcome
		applied journal.Applied
		effect  journal.Effect
	}{
		{journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted}, journal.OutcomeOK, journal.AppliedYes, journal.EffectWriteExternal},
		{journal.Result{Outcome: journal.OutcomeError, Applied: journal.AppliedYes}, journal.OutcomeError, journal.AppliedYes, journal.EffectWriteExternal},
		{journal.Result{Outcome: journal.OutcomeError, Applied: journal.AppliedUnknown}, journal.OutcomeUnknown, journal.AppliedUnknown, journal.EffectWriteExternal},
		{journal.Result{Outcome: journal.OutcomeError}, journal.OutcomeUnknown, journal.AppliedUnknown, journal.EffectWriteLocal},
		{journal.Result{Outcome: journal.OutcomeError}, journal.OutcomeError, "", journal.EffectRead},
	} {
		c.Effect = test.effect
		found := test.found
		j := Judge(c, nil, Evidence{Process: ProcessEvidence{State: ProcessEnded, Result: &found}})
		if j.Result.Outcome != test.outcome || j.Result.Applied != test.applied || j.Result.How != journal.HowAdopted {
			t.Errorf("%+v is adopted as %+v", test.found, *j.Result)
		}
		if found.How != test.found.How {
			t.Error("the evidence was changed")
		}
		j = Judge(c, nil, Evidence{Inspection: Inspection{Answer: InspectionHappened, Result: &found}})
		if j.Result.How != journal.HowVerified {
			t.Errorf("a result that was seen is %s", j.Result.How)
		}
	}
	if j := Judge(c, nil, Evidence{Inspection: Inspection{Answer: InspectionHappened}}); j.Result == nil || j.Result.Outcome != journal.OutcomeOK {
		t.Errorf("seen without a result: %+v", j)
	}
}

// A result repeats a bounded part of the arguments, and says what it left out.
func TestUnknownIsBounded(t *testing.T) {
	for n := 2000; n < 2100; n++ {
		c := &Call{Phase: journal.PhaseStarted, Proposal: &journal.Proposal{Tool: "write", Args: []byte(fmt.Sprintf("%q", strings.Repeat("é", n)))}}
		text := Judge(c, nil, Evidence{}).Result.Content
		if len(text) > briefBytes+400 || !strings.Contains(text, "bytes more") || strings.ContainsRune(text, '\uFFFD') {
			t.Fatalf("%d bytes: %s", len(text), text)
		}
	}
}
