package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// plainBodies are facts in every form that the quick reading takes, and some that it must leave
// alone.
func plainBodies() (taken, left []Body) {
	at := Place{Turn: 12, Index: 3, Attempt: 2}
	long := strings.Repeat("a line with \"quotes\", a \\ and\ttabs\r\n", 40) + "é 漢 \U0001F600 <b> & done"
	call := Proposal{ID: "c-1", Provider: "step-1", Tool: "shell", Args: json.RawMessage(`{"a":[{"b":"}\"]"},1.5e3,null]}`),
		Fingerprint: "hmac", Effect: EffectWriteExternal, RetrySafe: true, Decision: DecisionAllow, Why: "mode yolo", Sandbox: "landlock 7: write"}
	bare := Proposal{ID: "c-2", Tool: "read_file", Args: json.RawMessage(`{}`), Effect: EffectRead, Decision: DecisionDeny}
	taken = []Body{
		ModelRequested{},
		ModelAnswered{Stop: AnswerEnd},
		ModelAnswered{Stop: AnswerCalls, Calls: []Proposal{call, bare}},
		ModelAnswered{Stop: AnswerCalls, Blocks: []Block{{Kind: BlockText, Text: long}, {Kind: BlockReasoning}}, Calls: []Proposal{bare}},
		ModelAnswered{Stop: AnswerEnd, Usage: &Usage{Input: 1}},
		ModelAnswered{Stop: AnswerCalls, Blocks: []Block{{Kind: BlockReasoning, Text: "hm", Opaque: json.RawMessage(`{"anthropic":{"signature":"a<b"}}`)}},
			Calls: []Proposal{bare}, Usage: &Usage{Input: 12, Output: 3, Cached: 4, Written: 5, Reasoning: 2}, Served: "m", Origin: "req_1"},
		ModelAnswered{Stop: AnswerEnd, Usage: &Usage{Output: 3, Reasoning: 2}},
		CallStarted{Place: Place{}},
		CallStarted{Place: at, Before: json.RawMessage(`{"hash":"x","ctime":1}`), Binding: "b"},
		CallSettled{Place: at, Fingerprint: "fp"},
		CallSettled{Place: at, Fingerprint: "fp", Result: Result{Outcome: OutcomeOK, Applied: AppliedYes, How: HowExecuted, Content: long,
			Data: json.RawMessage(`{"status":0}`), Blob: "00ff", Size: 1 << 40, Took: time.Hour}},
		CallSettled{Result: Result{Content: "\x1b[0m \u2028 \x7f"}},
		TurnSettled{Checkpoint: "r-1@3"},
		TurnSettled{Checkpoint: "r-1@3", TurnsLeft: 97},
	}
	asked := bare
	asked.Offers = []Offer{{Answer: AnswerAlways, Rules: "[[allow]]"}}
	left = []Body{
		ModelAnswered{Stop: AnswerEnd, Usage: &Usage{}},
		ModelAnswered{Stop: AnswerCalls, Calls: []Proposal{asked}},
		ModelAnswered{Stop: AnswerEnd, Blocks: []Block{{Kind: BlockImage, Image: &Image{Media: "image/png"}}}},
		CallSettled{Result: Result{Alive: []string{"process 1"}}},
		CallSettled{Result: Result{Data: json.RawMessage(`[1]`)}},
		TurnSettled{Checkpoint: "x", TurnsLeft: -1},
		RunClaimed{Epoch: 1},
	}
	return taken, left
}

func TestPlainReading(t *testing.T) {
	taken, left := plainBodies()
	for _, b := range taken {
		got, ok := plainly(b.Kind(), encoded(t, b))
		if !ok || !reflect.DeepEqual(got, b) {
			t.Errorf("%s is read as\n%+v (%v), want\n%+v", b.Kind(), got, ok, b)
		}
	}
	for _, b := range left {
		if got, ok := plainly(b.Kind(), encoded(t, b)); ok {
			t.Errorf("%s is read as %+v and should be left alone", encoded(t, b), got)
		}
	}
}

// Whatever the quick reading takes, the reading of any JSON takes too, and as the same: also of a
// body that was cut or changed at any place.
func TestPlainReadingIsTheSame(t *testing.T) {
	taken, left := plainBodies()
	step := 5
	if os.Getenv("AGENT_TESTS") == "whole" {
		step = 1
	}
	for n, b := range append(taken, left...) {
		text := encoded(t, b)
		sameReading(t, b.Kind(), text)
		for i := range text {
			sameReading(t, b.Kind(), text[:i])
			if i%step != n%step {
				continue
			}
			for _, with := range []string{"", "0", "-", `"`, `\`, `\u0041`, "{", "}", "]", ",", " ", "\x00", "\xff", "null", `,"x":1`} {
				sameReading(t, b.Kind(), fmt.Appendf(nil, "%s%s%s", text[:i], with, text[i+1:]))
				sameReading(t, b.Kind(), fmt.Appendf(nil, "%s%s%s", text[:i], with, text[i:]))
			}
		}
	}
}

func sameReading(t *testing.T, kind Kind, text []byte) {
	t.Helper()
	got, ok := plainly(kind, text)
	if !ok {
		return
	}
	want, err := decoders[kind](text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is read as\n%+v, want\n%+v (%v)", text, got, want, err)
	}
}

// FuzzPlainReading: whatever the quick reading takes, the reading of any JSON takes as the same.
func FuzzPlainReading(f *testing.F) {
	taken, left := plainBodies()
	for _, b := range append(taken, left...) {
		f.Add(string(b.Kind()), encoded(f, b))
	}
	for kind, text := range map[Kind]string{
		KindCallSettled:   `{"turn":01,"index":0,"fp":"","result":{"outcome":"ok","applied":"yes","content":"a\tb\r\n\"\\\/\u0041"}}`,
		KindTurnSettled:   `{"checkpoint":"r-1@3","turns_left":007}`,
		KindModelAnswered: `{"blocks":[{"kind":"text","text":"\ud800\b\f"}],"stop":"end","usage":{"input":1,"output":9223372036854775808}}`,
	} {
		f.Add(string(kind), []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		if decoders[Kind(kind)] != nil {
			sameReading(t, Kind(kind), data)
		}
	})
}

// encoded writes a body as the store does.
func encoded(t testing.TB, body Body) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		t.Fatalf("encode %s: %v", body.Kind(), err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
