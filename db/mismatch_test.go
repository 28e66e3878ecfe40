package db

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// A run whose rows do not agree with its journal: a write that meets it says which file, what
// differs and what to do, and leaves the run as it is. Nobody is blamed for having written
// meanwhile.
func TestRowsThatDisagree(t *testing.T) {
	ctx := context.Background()
	settled := journal.CallSettled{Place: journal.Place{Turn: 1, Attempt: 1}, Result: journal.Result{
		Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted,
	}}
	for _, c := range []struct {
		name, spoil string
		fact        journal.Body
		says        string
	}{
		{"call is gone", "DELETE FROM tool_executions", settled, "call 1.0: there is no such call without a result"},
		{"call is settled", "UPDATE tool_executions SET phase = 'settled', outcome = 'ok'", settled, "call 1.0: there is no such call without a result"},
		{"last_seq is too low", "UPDATE runs SET last_seq = last_seq - 1", settled, "facts 5 to 5 are there already"},
		{"epoch is too low", "UPDATE runs SET epoch = epoch - 1", journal.RunClaimed{Epoch: 2}, "claim with epoch 2 after 0"},
		{"epoch is too high", "UPDATE runs SET epoch = epoch + 1", journal.RunClaimed{Epoch: 2}, "claim with epoch 2 after 2"},
		{"status is final", "UPDATE runs SET status = 'completed', ended_at = 1", journal.RunClaimed{Epoch: 2}, "write run.claimed: the run is completed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openStore(t, stateDir(t))
			h := startRun(t, s, "r-mismatch")
			a, _ := turnFacts(1, "c-11111111", "out")
			appendAll(t, s, h, a, AppendOptions{})
			if err := s.write(ctx, func(t *tx) error { return t.Once(c.spoil) }); err != nil {
				t.Fatal(err)
			}
			before, err := s.Head(ctx, h.Run)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Append(ctx, before, inTurn(1, c.fact), AppendOptions{})
			if !errors.As(err, new(*CorruptError)) || errors.Is(err, ErrLostRace) {
				t.Fatalf("%v", err)
			}
			for _, want := range []string{s.file.Path(), h.Run, "its rows do not agree with its journal", c.says, "agent doctor"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if after, err := s.Head(ctx, h.Run); err != nil || after.Seq != before.Seq || after.Epoch != before.Epoch || after.Status != before.Status {
				t.Errorf("the run was %+v and is %+v (%v)", before, after, err)
			}
		})
	}
}
