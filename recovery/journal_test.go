package recovery

import (
	"agent/recovery/journal"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// stored is a line of the golden journal.
type stored struct {
	Seq  int64           `json:"seq"`
	Turn int             `json:"turn"`
	Time time.Time       `json:"time"`
	Kind journal.Kind    `json:"kind"`
	V    int             `json:"v"`
	Body json.RawMessage `json:"body"`
}

func golden(t testing.TB, file string) []stored {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []stored
	for line := range strings.Lines(string(b)) {
		var s stored
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v in %s", file, err, line)
		}
		out = append(out, s)
	}
	return out
}

// JRN-01: a journal of version 1 is read for ever. The files are written by hand and never changed;
// what is added later gets a file of its own. They hold every kind, and every field that a stored
// body can have.
func TestGoldenJournal(t *testing.T) {
	fields := map[journal.Kind]map[string]bool{}
	s := readGolden(t, "testdata/journal-v1.jsonl", fields)
	if s.Status != StatusFailed || s.Epoch != 5 || len(s.Turns) != 3 || s.Final != "it shall end" {
		t.Errorf("the journal says %q, epoch %d, %d turns, %q", s.Status, s.Epoch, len(s.Turns), s.Final)
	}
	s = readGolden(t, "testdata/journal-v1-restored.jsonl", fields)
	if !s.Restored || s.Status != StatusInterrupted || s.Cause != journal.CauseRestored {
		t.Errorf("the journal of a run whose database went back in time says %q (%s), %t", s.Status, s.Cause, s.Restored)
	}
	s = readGolden(t, "testdata/journal-v1-moved.jsonl", fields)
	if s.Status != StatusRunning || s.Moved != nil || s.Open != nil || s.Created.Folder != "/there" || s.Turns[0].Calls[0].Denied != "" {
		t.Errorf("the journal of a run that came from another store says %q in %s, %+v", s.Status, s.Created.Folder, s.Turns[0].Calls[0])
	}
	s = readGolden(t, "testdata/journal-v1-models.jsonl", fields)
	if s.Status != StatusCompleted || s.Usage.Tokens() != 2830 || s.Estimated.Tokens() != 1208 || s.Final != "Done." {
		t.Errorf("the journal with a provider says %q, used %+v, estimated %+v, %q", s.Status, s.Usage, s.Estimated, s.Final)
	}
	s = readGolden(t, "testdata/journal-v1-permission.jsonl", fields)
	if s.Status != StatusCompleted || s.Turns[0].Calls[0].Result.Outcome != journal.OutcomeOK || s.Turns[0].Calls[1].Decision != journal.DecisionAsk {
		t.Errorf("the journal with standing answers says %q, %+v", s.Status, s.Turns[0].Calls)
	}
	s = readGolden(t, "testdata/journal-v1-plan.jsonl", fields)
	if s.Mode != journal.ModeAuto || !s.Created.AskPlan || s.Final != "Done." || len(s.Turns) != 3 {
		t.Errorf("the journal with a plan says %q, mode %s, %d turns", s.Final, s.Mode, len(s.Turns))
	}
	s = readGolden(t, "testdata/journal-v1-schema.jsonl", fields)
	if s.Misfits != 1 || string(s.Created.OutputSchema) != `{"type":"object","required":["name"]}` {
		t.Errorf("the journal with an output schema says %d misfits of %s", s.Misfits, s.Created.OutputSchema)
	}
	if d := s.Created.Dirs; len(d) != 2 || d[0].Write || d[1] != (journal.Dir{Path: "/out", Write: true}) {
		t.Errorf("the journal with folders beside the workspace says %+v", d)
	}
	s = readGolden(t, "testdata/journal-v1-widths.jsonl", fields)
	if c := s.Turns[0].Calls; c[0].Approved != "b:1" || c[1].Denied != "ana said no: push nothing today" || s.Created.Rules == "" {
		t.Errorf("the journal with answers of several widths says %+v, %+v", c[0], c[1])
	}
	s = readGolden(t, "testdata/journal-v1-clock.jsonl", fields)
	if spent := s.Spent(time.Date(2026, 3, 3, 5, 4, 9, 1000, time.UTC)); spent != 7*time.Second {
		t.Errorf("the journal of a run whose clock was set says that it was going for %s", spent)
	}
	s = readGolden(t, "testdata/journal-v1-twin.jsonl", fields)
	if len(s.Inherited) != 2 || s.Inherited[0].Resolved != journal.WordHappened || s.Inherited[1].Resolved != journal.WordLeave {
		t.Errorf("the journal with resolved calls of other runs says %+v", s.Inherited)
	}
	s = readGolden(t, "testdata/journal-v1-resume.jsonl", fields)
	if said := s.Messages(); s.Created.Model != "work/qwen3" || s.Created.Folder != "/home/ada/moved" || len(said) != 2 {
		t.Errorf("the journal of a resume with changes says %+v, and shows %+v", s.Created, said)
	}
	s = readGolden(t, "testdata/journal-v1-input.jsonl", fields)
	if s.Created.Input != "one\ntwo\n" {
		t.Errorf("the journal of a run with piped input says %+v", s.Created)
	}
	s = readGolden(t, "testdata/journal-v1-servers.jsonl", fields)
	if pins := s.Created.Setup.Servers; len(pins) != 1 || pins[0].Name != "srv" || pins[0].Tools[0].Pin != "c0ffee" {
		t.Errorf("the journal of a run with MCP servers says %+v", pins)
	}
	s = readGolden(t, "testdata/journal-v1-background.jsonl", fields)
	if s.Status != StatusRunning || s.Epoch != 2 {
		t.Errorf("the journal of a run in the background says %q, epoch %d", s.Status, s.Epoch)
	}
	s = readGolden(t, "testdata/journal-v1-child.jsonl", fields)
	if c := s.Created; c.Parent != "r-9k2m9qx4" || c.Root != "r-7k2m9qx4" || c.FamilyThread() != "t-3f6h8abc" || c.Role != "delegate c-1a2b3c4d" || len(c.Only) != 2 || s.Fruitless != 0 ||
		s.Below.Usage.Tokens() != 120 || len(s.Inherited) != 1 {
		t.Errorf("the journal of a child says %+v", c)
	}
	s = readGolden(t, "testdata/journal-v1-start.jsonl", fields)
	if s.Created.StartKey != "nightly 2026-11-23" || len(s.Created.StartDigest) != 64 {
		t.Errorf("the journal of a run with a start key says %+v", s.Created)
	}
	s = readGolden(t, "testdata/journal-v1-witness.jsonl", fields)
	if s.Created.Witness != "unix:/run/user/1000/witness" || s.Cause != journal.CauseLog {
		t.Errorf("the journal of a run with a witness says %+v, interrupted by %s", s.Created, s.Cause)
	}
	s = readGolden(t, "testdata/journal-v1-environment.jsonl", fields)
	if len(s.Created.Env) != 64 {
		t.Errorf("the journal of a run with a recorded environment says %+v", s.Created)
	}
	s = readGolden(t, "testdata/journal-v1-disk.jsonl", fields)
	if s.disk == nil || s.disk.Errors != 2 || s.disk.Mount != 18262 {
		t.Errorf("the journal of a run whose disk was looked at says %+v", s.disk)
	}
	s = readGolden(t, "testdata/journal-v1-asked.jsonl", fields)
	if s.Created.By != "ada" || s.Open == nil || s.Open.CallID != "c-8aaaaaaa" || s.Open.Tool != "shell" || string(s.Open.Args) != `{"command":"make"}` {
		t.Errorf("the journal of a run that waits for permission says %+v, started by %q", s.Open, s.Created.By)
	}
	s = readGolden(t, "testdata/journal-v1-guarded.jsonl", fields) // asked as older binaries do
	if !s.Restored || s.Created.Name != "nightly build" || s.Turns[0].Calls[0].Phase != journal.PhaseStarted {
		t.Errorf("the journal of a run below one that was restored says %t, %q, %+v", s.Restored, s.Created.Name, s.Turns[0].Calls[0])
	}
	s = readGolden(t, "testdata/journal-v1-flow.jsonl", fields)
	if s.Status != StatusWaiting || s.Open == nil || s.Open.Phase == nil || s.Open.Phase.About != journal.AboutStart {
		t.Errorf("the journal of a flow says %q, asks %+v", s.Status, s.Open)
	}
	s = readGolden(t, "testdata/journal-v1-carried.jsonl", fields)
	if c := s.Created; len(c.Flow) == 0 || c.Task != "Add CSV export" || len(c.Vars) != 1 || !c.Repeat || s.Below.Usage.Tokens() != 9 {
		t.Errorf("the journal of a flow that is carried out says %+v", c)
	}
	s = readGolden(t, "testdata/journal-v1-files.jsonl", fields)
	if s.Status != StatusRunning || len(s.UnknownCalls()) != 0 || s.Turns[0].Calls[0].Result == nil {
		t.Errorf("the journal of a run whose files were looked at says %q, %+v", s.Status, s.Turns)
	}
	s = readGolden(t, "testdata/journal-v1-rewind.jsonl", fields)
	if c := s.Created; c.From == nil || *c.From != c.Rewind.To || c.Rewind.To.Turn != 1 || !c.Rewind.Yes {
		t.Errorf("the journal of a rewind says %+v", c)
	}
	s = readGolden(t, "testdata/journal-v1-stands.jsonl", fields)
	if c := s.Turns[0].Calls[0]; !s.Stands() || s.Inherited[0].Content != "main -> main" || c.Phase != journal.PhaseStarted {
		t.Errorf("the journal of a fork whose source pushed says %+v, started %q", s.Inherited, c.Phase)
	}
	s = readGolden(t, "testdata/journal-v1-lowered.jsonl", fields)
	if c := s.Turns[0].Calls[0]; c.Access != "write" || c.Effect != journal.EffectWriteLocal {
		t.Errorf("the journal of a command that got less than it asked for says %+v", c)
	}
	for _, k := range journal.Kinds() {
		b, err := journal.Decode(k, journal.Version, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range tags(reflect.TypeOf(b), "") {
			switch {
			case k == journal.KindRunCompleted, k == journal.KindRunCancelled:
				continue // the three ends exclude each other: see TestGoldenEnds
			case strings.HasPrefix(f, "/blocks/call"), strings.HasPrefix(f, "/blocks/result"):
				continue // an answer is stored with its calls beside its blocks
			}
			if !fields[k][f] {
				t.Errorf("%s: the golden journal has no %s", k, f)
			}
		}
	}
}

// readGolden folds a golden journal and notes the fields that it has.
func readGolden(t *testing.T, file string, fields map[journal.Kind]map[string]bool) *State {
	t.Helper()
	s := &State{}
	for _, line := range golden(t, file) {
		body, err := journal.Decode(line.Kind, line.V, line.Body)
		if err != nil {
			t.Fatalf("%s: fact %d: %v", file, line.Seq, err)
		}
		if again := encodeBody(t, body); !bytes.Equal(again, line.Body) {
			t.Errorf("%s: fact %d is stored as\n%s\nand would be stored again as\n%s", file, line.Seq, line.Body, again)
		}
		if err := s.Apply(journal.Event{Seq: line.Seq, Turn: line.Turn, Time: line.Time, Body: body}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if fields[line.Kind] == nil {
			fields[line.Kind] = map[string]bool{}
		}
		var v any
		if err := json.Unmarshal(line.Body, &v); err != nil {
			t.Fatal(err)
		}
		gather(fields[line.Kind], "", v)
	}
	return s
}

// The ends that the golden journal does not have.
func TestGoldenEnds(t *testing.T) {
	for kind, text := range map[journal.Kind]string{
		journal.KindRunCompleted: `{"text":"done"}`,
		journal.KindRunCancelled: `{"by":"ana","reason":"cancelled by ana"}`,
	} {
		body, err := journal.Decode(kind, 1, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if again := string(encodeBody(t, body)); again != text {
			t.Errorf("%s is stored as %s and would be stored again as %s", kind, text, again)
		}
	}
}

// gather notes the name of every field of a stored body. What a tool or a provider says is not ours
// to name.
func gather(into map[string]bool, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, w := range v {
			into[path+"/"+k] = true
			switch k {
			case "args", "schema", "data", "opaque", "answer":
				continue
			case "before":
				if _, list := w.([]any); !list && path == "" { // what an inspector needs
					continue
				}
			}
			gather(into, path+"/"+k, w)
		}
	case []any:
		for _, w := range v {
			gather(into, path, w)
		}
	}
}

// tags lists the names under which the fields of a type are stored.
func tags(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous:
			out = append(out, tags(f.Type, path)...)
		default:
			out = append(out, path+"/"+name)
			out = append(out, tags(f.Type, path+"/"+name)...)
		}
	}
	return out
}

// FuzzDecode: whatever lies in a journal, reading it is an error or a body that is stored and read
// again as the same, and a state takes it or refuses it; nothing panics.
func FuzzDecode(f *testing.F) {
	for _, file := range []string{"testdata/journal-v1.jsonl", "testdata/journal-v1-models.jsonl", "testdata/journal-v1-permission.jsonl"} {
		for _, line := range golden(f, file) {
			f.Add(string(line.Kind), line.V, []byte(line.Body))
		}
	}
	f.Add("run.claimed", 1, []byte(`null`))
	f.Fuzz(func(t *testing.T, kind string, v int, data []byte) {
		body, err := journal.Decode(journal.Kind(kind), v, data)
		if err != nil {
			return
		}
		text := encodeBody(t, body)
		again, err := journal.Decode(body.Kind(), journal.Version, text)
		if err != nil {
			t.Fatalf("%s cannot be read: %v", text, err)
		}
		if twice := encodeBody(t, again); !bytes.Equal(text, twice) {
			t.Fatalf("%s\nis stored again as\n%s", text, twice)
		}
		for _, n := range []int{0, 1, 3, 5, 7} { // before the first fact, created, asked, answered, started
			s, err := Fold(sample()[:n])
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(journal.Event{Seq: s.Seq + 1, Turn: 1, Body: body}); err == nil {
				Next(s)
				s.Messages()
			}
		}
	})
}

// sample is the beginning of a run.
func sample() []journal.Event {
	at := journal.Place{Turn: 1}
	bodies := []journal.Body{
		journal.RunCreated{Run: "r-1", Thread: "t-1", Prompt: "do it", Folder: "/w", Model: "m", Mode: journal.ModeAuto, Limits: journal.Limits{MaxTurns: 100}},
		journal.RunClaimed{Epoch: 1, PID: 1},
		journal.ModelRequested{},
		journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
			{ID: "c-1", Tool: "shell", Args: json.RawMessage(`{"what":"a"}`), Fingerprint: "fp", Effect: journal.EffectWriteExternal, Decision: journal.DecisionAsk},
			{ID: "c-2", Tool: "read", Args: json.RawMessage(`{}`), Fingerprint: "fp2", Effect: journal.EffectRead, Decision: journal.DecisionAllow},
		}},
		journal.RequestOpened{Request: journal.Request{ID: "p-1", Question: journal.Question{Kind: journal.RequestPermission}, Call: &at, Binding: "b"}},
		journal.RequestAnswered{ID: "p-1", Answer: json.RawMessage("true")},
		journal.CallStarted{Place: journal.Place{Turn: 1, Attempt: 1}, Binding: "b"},
	}
	var events []journal.Event
	for i, b := range bodies {
		events = append(events, journal.Event{Seq: int64(i) + 1, Turn: min(1, i/2), Time: time.Unix(int64(i), 0).UTC(), Body: b})
	}
	return events
}
