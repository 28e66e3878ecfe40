package db

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// answer is the first commit of a turn with several calls, of which the first starts at once.
func answer(turn int, ids ...string) []journal.Event {
	var calls []journal.Proposal
	for _, id := range ids {
		calls = append(calls, call(id, `{"command":"make test"}`))
	}
	return inTurn(turn, journal.ModelAnswered{Calls: calls, Stop: journal.AnswerCalls},
		journal.CallStarted{Place: journal.Place{Turn: turn, Attempt: 1}})
}

func settle(turn, index int, r journal.Result) []journal.Event {
	at := journal.Place{Turn: turn, Index: index, Attempt: 1}
	return inTurn(turn, journal.CallSettled{Place: at, Fingerprint: call("", `{"command":"make test"}`).Fingerprint, Result: r})
}

// Calls of several runs lie among each other in one table. Each run lists its own, in the order in
// which the model asked, and a result reaches the call that it is of, however many rows came after
// it.
func TestCallsOfRunsThatTakeTurns(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	a, b := startRun(t, s, "r-aaaa0000"), startRun(t, s, "r-bbbb0000")
	c := startRun(t, s, "r-cccc0000")
	ok := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: "done"}

	a = appendAll(t, s, a, answer(1, "c-a1", "c-a2", "c-a3"), AppendOptions{})
	b = appendAll(t, s, b, answer(1, "c-b1"), AppendOptions{})
	a = appendAll(t, s, a, settle(1, 0, ok), AppendOptions{})
	a = appendAll(t, s, a, settle(1, 2, ok), AppendOptions{})
	b = appendAll(t, s, b, settle(1, 0, ok), AppendOptions{})
	b = appendAll(t, s, b, inTurn(2, journal.ModelAnswered{Stop: journal.AnswerEnd}), AppendOptions{}) // asks for nothing

	phases := func(run string) (out []string) {
		t.Helper()
		rows, err := s.Calls(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			out = append(out, r.ID+" "+string(r.Phase))
		}
		return out
	}
	open := func(h Head) string {
		t.Helper()
		r, err := s.Run(ctx, h.Run)
		if err != nil {
			t.Fatal(err)
		}
		if r.Open == nil {
			return ""
		}
		return r.Open.ID
	}
	for _, c := range []struct {
		head Head
		want []string
		open string
	}{
		{a, []string{"c-a1 settled", "c-a2 proposed", "c-a3 settled"}, "c-a2"},
		{b, []string{"c-b1 settled"}, ""},
		{c, nil, ""},
	} {
		if got := phases(c.head.Run); !slices.Equal(got, c.want) {
			t.Errorf("calls of %s: %q, want %q", c.head.Run, got, c.want)
		}
		if got := open(c.head); got != c.open {
			t.Errorf("the open call of %s is %q, want %q", c.head.Run, got, c.open)
		}
	}
	if _, err := s.Append(ctx, c, settle(1, 0, ok), AppendOptions{}); err == nil {
		t.Error("a result of a call that the run does not have was taken")
	}
}

// A person's decision on a call of an earlier turn reaches that call, also where another run has
// one at the same place since.
func TestRulingOnAnEarlierTurn(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	a, b := startRun(t, s, "r-aaaa0000"), startRun(t, s, "r-bbbb0000")
	lost := journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowExecuted}
	a = appendAll(t, s, a, append(answer(1, "c-a1"), settle(1, 0, lost)...), AppendOptions{})
	b = appendAll(t, s, b, append(answer(1, "c-b1"), settle(1, 0, lost)...), AppendOptions{})
	a = appendAll(t, s, a, append(answer(2, "c-a2"), settle(2, 0, lost)...), AppendOptions{})
	place := journal.Place{Turn: 1, Attempt: 1}
	a = appendAll(t, s, a, inTurn(2, journal.CallResolved{Place: place, Word: journal.WordHappened}), AppendOptions{})

	for _, c := range []struct {
		head Head
		want []string
	}{{a, []string{"c-a1 happened", "c-a2"}}, {b, []string{"c-b1"}}} {
		unknown, err := s.Doubts(ctx, c.head.Thread, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range unknown {
			got = append(got, strings.TrimSpace(u.ID+" "+string(u.Resolved)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("in doubt in %s: %q, want %q", c.head.Run, got, c.want)
		}
	}
}

// The id of a call leads to it: typed by a person, or read in a result that shows only a part of an
// output.
func TestCallByID(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-aaaa0000")
	h = appendAll(t, s, h, answer(1, "c-short", "c-long"), AppendOptions{})
	short := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: "all of it"}
	long := short
	long.Content, long.Full = "the beginning", []byte(strings.Repeat("a whole line\n", 1000))
	h = appendAll(t, s, h, settle(1, 0, short), AppendOptions{})
	appendAll(t, s, h, settle(1, 1, long), AppendOptions{})

	for id, want := range map[string]string{"c-short": "all of it", "c-long": string(long.Full)} {
		if c, err := s.Call(ctx, id); err != nil || c.ID != id {
			t.Errorf("call %s: %+v, %v", id, c, err)
		}
		r, size, err := s.Output(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(r, 0, size))
		if err != nil || string(got) != want {
			t.Errorf("output of %s: %d bytes, %v; want %d", id, len(got), err, len(want))
		}
	}
	var unknown *UnknownIDError
	if _, _, err := s.Output(ctx, "c-none"); !errors.As(err, &unknown) {
		t.Errorf("output of no call: %v", err)
	}
}

// One damaged place in the tables or indexes beside the journal never hides that an outcome is
// unknown: what asks for the same again would be executed twice.
func TestUnknownOutcomeIsNotHiddenByDamage(t *testing.T) {
	ctx := context.Background()
	lost := journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowExecuted}
	for name, damage := range map[string]string{
		"another outcome":     "UPDATE tool_executions SET outcome = 'ok'",
		"a word":              "UPDATE tool_executions SET resolved = 'happened'",
		"no row":              "DELETE FROM tool_executions",
		"another run":         "UPDATE tool_executions SET run_no = 9",
		"another tool":        "UPDATE tool_executions SET tool = 'shelm'",
		"another id":          "UPDATE tool_executions SET id = 'c-a2'",
		"another count":       "UPDATE runs SET unknown = 0",
		"an index without it": "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'inbox_unconsumed') WHERE name = 'calls_unknown'",
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			s := openStore(t, dir)
			h := startRun(t, s, "r-aaaa0000")
			appendAll(t, s, h, append(answer(1, "c-a1"), settle(1, 0, lost)...), AppendOptions{})
			if u, err := s.Doubts(ctx, h.Thread, ""); err != nil || len(u) != 1 {
				t.Fatalf("undamaged: %+v, %v", u, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, damage)
			var corrupt *CorruptError
			if u, err := openStore(t, dir).Doubts(ctx, h.Thread, ""); !errors.As(err, &corrupt) {
				t.Errorf("unknown calls: %+v, %v", u, err)
			}
		})
	}
}
