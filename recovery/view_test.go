package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// What a time limit is compared with goes on between two facts, while the run is going and only
// then.
func TestSpent(t *testing.T) {
	s, err := Fold(sample())
	if err != nil {
		t.Fatal(err)
	}
	at := sample()[len(sample())-1].Time
	if s.Active != 4*time.Second { // claimed at 1, asked at 4, answered at 5, started at 6
		t.Errorf("going for %s", s.Active)
	}
	if got := s.Spent(at.Add(10 * time.Second)); got != 14*time.Second {
		t.Errorf("ten seconds later: %s", got)
	}
	if got := s.Spent(at.Add(-time.Hour)); got != 4*time.Second {
		t.Errorf("with a clock that was set back: %s", got)
	}
	s, err = Fold(sample()[:5])
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Spent(at.Add(time.Hour)); got != 3*time.Second {
		t.Errorf("while it waits: %s", got)
	}
}

// JRN-07: what was handed out for one request does not change when the run goes on.
func TestMessagesAreASnapshot(t *testing.T) {
	events := pairs(20)
	s := &State{Earlier: []journal.Message{{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "before"}}}}}
	var given [][]journal.Message
	var copies []string
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		given = append(given, s.Messages())
		copies = append(copies, text(t, s.Messages()))
	}
	for i := range given {
		if text(t, given[i]) != copies[i] {
			t.Fatalf("the messages after fact %d were changed later", i+1)
		}
	}
	fresh, err := Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	fresh.Earlier = s.Earlier
	if !reflect.DeepEqual(fresh.Messages(), s.Messages()) {
		t.Error("a fresh fold is shown something else")
	}
	if got, alone := fresh.Transcript(); alone || !reflect.DeepEqual(got, fresh.Messages()[1:]) {
		t.Error("the transcript holds more or less than the run")
	}
}

// pairs is a run of so many turns with two reads each, of which the second ends first.
func pairs(turns int) []journal.Event {
	bodies, at := []journal.Body{journal.RunCreated{Run: "r-1", Mode: journal.ModeAsk}, journal.RunClaimed{Epoch: 1}}, []int{0, 0}
	for n := 1; n <= turns; n++ {
		read := journal.Proposal{Tool: "read", Effect: journal.EffectRead, Decision: journal.DecisionAllow}
		first, second := journal.Place{Turn: n, Attempt: 1}, journal.Place{Turn: n, Index: 1, Attempt: 1}
		ok := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedNo, How: journal.HowExecuted, Content: "read"}
		bodies = append(bodies,
			journal.ModelRequested{}, journal.ModelAnswered{Calls: []journal.Proposal{read, read}},
			journal.CallStarted{Place: first}, journal.CallStarted{Place: second},
			journal.CallSettled{Place: second, Result: ok}, journal.CallSettled{Place: first, Result: ok}, journal.TurnSettled{},
		)
		at = append(at, n, n, n, n, n, n, n)
	}
	var events []journal.Event
	for i, b := range bodies {
		events = append(events, journal.Event{Seq: int64(i) + 1, Turn: at[i], Body: b})
	}
	return events
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The bytes that a model is sent are the same before and after the facts were stored: white space
// goes as they come in.
func TestRawJSONIsCompact(t *testing.T) {
	for raw, want := range map[string]string{
		"{ \"a\" : \"b  c\\\" \\\\\" ,\n\t\"d\": [ 1 , 2 ] }": `{"a":"b  c\" \\","d":[1,2]}`,
		`{"a":"b"}`: `{"a":"b"}`,
		`"< & >"`:   `"< & >"`,
		`{ broken`:  `{ broken`,
		``:          ``,
		`"\\" `:     `"\\"`,
	} {
		if got := string(compact(json.RawMessage(raw))); got != want {
			t.Errorf("%q becomes %q, want %q", raw, got, want)
		}
	}
}

// A person reads arguments as lines.
func TestDescribe(t *testing.T) {
	for raw, want := range map[string]string{
		`{"path":"a.txt","overwrite":true,"lines":[1,2],"none":null}`: "  path: a.txt\n  overwrite: yes\n  lines: [1,2]\n  none: null",
		`{"content":"one\ntwo\n"}`:                                    "  content: \n    one\n    two",
		`{}`:                                                          "",
		`"text"`:                                                      `  "text"`,
		`[1,2]`:                                                       `  [1,2]`,
		`{"a":`:                                                       `  {"a":`,
		`{"a":1`:                                                      "  a: 1",
	} {
		if got := Describe(json.RawMessage(raw)); got != want {
			t.Errorf("%s is described as %q, want %q", raw, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`true`: "yes", `false`: "no", `"happened"`: "happened", `42`: "42", `{"a":1}`: `{"a":1}`, `broken`: "broken",
	} {
		if got := journal.Text(json.RawMessage(raw)); got != want {
			t.Errorf("%s reads %q, want %q", raw, got, want)
		}
	}
}
