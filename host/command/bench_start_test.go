package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"agent/db"
	"agent/recovery/journal"
	"agent/tools/process"
)

// grown writes the journal of a run that was killed behind its last settled turn, as the host would
// have, but many turns to a commit. Its prompt is a runbook of one step more.
func grown(tb testing.TB, store *db.Store, run, folder string, turns int, content, last string) {
	tb.Helper()
	ctx := context.Background()
	var prompt strings.Builder
	for i := range turns {
		prompt.WriteString(block(fmt.Sprintf(": %d", i+1)) + "\n\n")
	}
	prompt.WriteString(block(last) + "\n")
	thread := "t-" + run[2:]
	h, err := store.Create(ctx, db.ThreadRef{ID: thread, Folder: folder, New: true}, []journal.Event{
		{Body: journal.RunCreated{
			Run: run, Thread: thread, Prompt: prompt.String(), Folder: folder, Model: "runbook", Mode: journal.ModeAsk, Authored: true,
		}},
		{Body: journal.RunClaimed{Epoch: 1, PID: os.Getpid(), Boot: process.Self().Boot, Host: "here"}},
		{Turn: 1, Body: journal.ModelRequested{}},
	})
	must(tb, err)
	for n := 1; n <= turns; {
		var facts []journal.Event
		for ; n <= turns && len(facts) < 1000; n++ {
			facts = append(facts, settledTurn(tb, store, run, n, content)...)
		}
		h, err = store.Append(ctx, h, facts, db.AppendOptions{})
		must(tb, err)
	}
}

func settledTurn(tb testing.TB, store *db.Store, run string, n int, content string) []journal.Event {
	tb.Helper()
	args := json.RawMessage(fmt.Sprintf(`{"command":": %d\n"}`, n))
	fp, err := store.Fingerprint("t-"+run[2:], "shell", args)
	must(tb, err)
	at := journal.Place{Turn: n, Attempt: 1}
	return []journal.Event{
		{Turn: n, Body: journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{{
			ID: fmt.Sprintf("c-%s%06d", run[2:], n), Provider: fmt.Sprintf("step-%d", n), Tool: "shell", Args: args, Fingerprint: fp,
			Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow,
		}}}},
		{Turn: n, Body: journal.CallStarted{Place: at}},
		{Turn: n, Body: journal.CallSettled{Place: at, Fingerprint: fp, Result: journal.Result{
			Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: content, Size: int64(len(content)),
		}}},
		{Turn: n, Body: journal.TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", run, n)}},
		{Turn: n + 1, Body: journal.ModelRequested{}},
	}
}

// BenchmarkAtRest is the memory of a host that waits for a command, over a state folder with a
// million facts and over an empty one.
func BenchmarkAtRest(b *testing.B) {
	full, empty := newBench(b), newBench(b)
	store := openStore(b, full.home)
	for i := range 20 {
		grown(b, store, fmt.Sprintf("r-grown%03d", i), full.folder, 10000, "it went well", ":")
	}
	must(b, store.Close())
	here, gate := newFifo(b), newFifo(b)
	for b.Loop() {
		for name, c := range map[string]bench{"MB-million": full, "MB-empty": empty} {
			cmd := c.command(c.book(b, "wait.md", 1, func(int) string { return holding(here, gate) })...)
			_, wait := here.awaitFrom(b, cmd)
			b.ReportMetric(peak(b, cmd.Process.Pid), name)
			gate.open(b)
			wait()
		}
	}
	b.ReportMetric(float64(sizeOf(b, full.home))/1e6, "MB-database")
}
