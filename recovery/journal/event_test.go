package journal

import (
	"fmt"
	"strings"
	"testing"
)

func TestDecodeRefusesByName(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		v    int
		body string
		want []string
	}{
		{"call.imagined", 1, "{}", []string{`"call.imagined"`, "not known"}},
		{KindCallStarted, Version + 1, "{}", []string{"call.started", fmt.Sprint("version ", Version+1), "newer"}},
		{KindCallStarted, 0, "{}", []string{"call.started", "no version 0"}},
		{KindCallStarted, -1, "{}", []string{"call.started", "no version -1"}},
		{KindCallStarted, 1, `{"turn":"one"}`, []string{"decode call.started", "turn"}},
		{KindCallStarted, 1, `{"turn":`, []string{"decode call.started"}},
		{KindCallStarted, 1, ``, []string{"decode call.started"}},
	} {
		b, err := Decode(c.kind, c.v, []byte(c.body))
		if err == nil || b != nil {
			t.Errorf("decode %s version %d of %q: %v, %v", c.kind, c.v, c.body, b, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("decode %s version %d of %q: %v; want it to say %q", c.kind, c.v, c.body, err, w)
			}
		}
	}
}

// A fact is short: what is empty is not stored, and what can be told from its place is not said
// again.
func TestFactsAreShort(t *testing.T) {
	for _, c := range []struct {
		body Body
		want string
	}{
		{ModelRequested{}, `{}`},
		{CallStarted{Place: Place{Turn: 3, Index: 1, Attempt: 1}}, `{"turn":3,"index":1,"attempt":1}`},
		{
			CallSettled{Place: Place{Turn: 3, Attempt: 1}, Fingerprint: "f", Result: Result{
				Outcome: OutcomeOK, Applied: AppliedYes, How: HowExecuted, Content: "a <b> & c", Full: []byte("not here"),
			}},
			`{"turn":3,"index":0,"attempt":1,"fp":"f","result":{"outcome":"ok","applied":"yes","how":"executed","content":"a <b> & c"}}`,
		},
		{TurnSettled{Checkpoint: "r-1@3"}, `{"checkpoint":"r-1@3"}`},
		{RunClaimed{Epoch: 2, PID: 7}, `{"epoch":2,"pid":7}`},
		{RunInterrupted{Cause: CauseCrash}, `{"cause":"crash"}`},
		{ModelAnswered{Stop: AnswerEnd}, `{"stop":"end"}`},
	} {
		if got := string(encoded(t, c.body)); got != c.want {
			t.Errorf("%s is stored as\n%s, want\n%s", c.body.Kind(), got, c.want)
		}
	}
}

// Kinds, decoders and bodies are one list.
func TestKindsAreComplete(t *testing.T) {
	if len(Kinds()) != len(decoders) {
		t.Errorf("%d kinds, %d decoders", len(Kinds()), len(decoders))
	}
	for _, k := range Kinds() {
		b, err := Decode(k, Version, []byte("{}"))
		if err != nil {
			t.Errorf("decode %s: %v", k, err)
		} else if b.Kind() != k {
			t.Errorf("a body of %s says that it is %s", k, b.Kind())
		}
	}
}

func TestDollars(t *testing.T) {
	for micros, want := range map[int64]string{0: "$0.00", 5: "$0.000005", 12_300: "$0.0123", 2_500_000: "$2.50", 10_000_000: "$10.00"} {
		if got := Dollars(micros); got != want {
			t.Errorf("%d: %s, not %s", micros, got, want)
		}
	}
}
