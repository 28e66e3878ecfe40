//go:build linux

package power

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
)

// A line that was shown reports a fact; after a cut the record must hold it.
func TestShownLinesAreHeldAgainstTheRecord(t *testing.T) {
	done := &judge.Call{Turn: 1, Index: 0, Starts: 1, Results: []journal.Body{{}}}
	begun := &judge.Call{Turn: 2, Index: 1, Starts: 1}
	h := &judge.History{Run: journal.Run{ID: "r-7k2m9qx4", Status: "running"}, Calls: []*judge.Call{done, begun}}
	r := &journal.Record{Requests: []journal.Request{
		{ID: "p-7stc410q", Status: "resolved", Answer: `{"value":"blue"}`},
		{ID: "p-6bk0mqf6", Status: "resolved", Answer: `{"value":true}`},
		{ID: "p-open1234", Status: "open"},
	}}
	for line, want := range map[string]string{
		"run r-7k2m9qx4  model runbook (--model), mode yolo": "",
		"run r-00000000  model runbook (--model), mode yolo": "the run is gone",
		"run r-7k2m9qx4 completed: 5 turns":                  "its end is gone",
		"> 2.1 shell: true":                                  "",
		"> 2.2 shell: true":                                  "that the call was started is gone",
		"✓ 1.0 shell: ok, 22ms":                              "",
		"✓ 2.1 shell: ok, 22ms":                              "the result is gone",
		"~ 2.1 shell: attach":                                "the verdict is gone",
		"    agent answer p-open1234 \"TEXT\"":               "",
		"    agent answer p-gone1234 \"TEXT\"":               "the question is gone",
		"? p-7stc410q answered by root: blue":                "",
		"? p-7stc410q answered by root: red":                 "the answer is gone",
		"? p-6bk0mqf6 answered by root: yes":                 "",
		"? p-open1234 answered by root: yes":                 "the answer is gone",
		"any other words":                                    "",
	} {
		if got := newShownForms().missing(line, h, r); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// A line counts from the operation after which it was read, and not before.
func TestOnlyWhatWasShownBeforeTheCutMustBeThere(t *testing.T) {
	p := &recording{shown: []shownLine{{at: 7, args: []string{"run"}, text: "✓ 1.0 shell: ok"}}}
	for at, want := range map[int]int{6: 0, 7: 1, 8: 1} {
		if f := p.compareShown(at, nil, &journal.Record{}); len(f) != want {
			t.Errorf("after operation %d: %v", at, f)
		}
	}
}

// The cuts that matter most are never left to chance.
func TestTellingCuts(t *testing.T) {
	p := &recording{ops: []machine.Op{
		{N: 1, Op: "fsyncdir", Path: "home/state/calls/r-775zm8mw/1-0-1"}, {N: 2, Op: "write", Path: "work/effects"},
		{N: 3, Op: "rename", Path: "home/state/calls/r-775zm8mw/1-0-1/exit.reserved", To: "home/state/calls/r-775zm8mw/1-0-1/exit"},
		{N: 4, Op: "fsyncdir", Path: "home/state/calls/r-775zm8mw/1-0-1"}, {N: 5, Op: "write", Path: "work/effects"},
	}}
	for short, want := range map[bool]string{true: "[2 4]", false: "[2 5 4]"} {
		var at []int
		for _, c := range tellingCuts(p.cutPoints(), lab.Choice{Short: short}) {
			at = append(at, c.at)
		}
		if got := fmt.Sprint(at); got != want {
			t.Errorf("short %v: %s, want %s", short, got, want)
		}
	}
	h := &judge.History{Calls: []*judge.Call{{Turn: 1, Results: make([]journal.Body, 1)}}}
	h.Calls[0].Results[0].Result.Outcome = "unknown"
	for at, want := range map[int]int{3: 0, 4: 1} {
		if f := p.compareExits(at, []*judge.History{h}); len(f) != want {
			t.Errorf("after operation %d: %v", at, f)
		}
	}
}

// A key finds its state in another recording, in which numbers and made-up names are others.
func TestAKeyNamesAMomentAndNotANumber(t *testing.T) {
	first := &recording{shape: "runbook", ops: []machine.Op{
		{N: 1, Op: "create", Path: "home/state/.ballast-4175398261"}, {N: 2, Op: "write", Path: "home/state/calls/r-775zm8mw/3-0-1/began"},
		{N: 3, Op: "write", Path: "home/state/agent.db-shm"}, {N: 4, Op: "write", Path: "home/state/calls/r-775zm8mw/3-0-1/began"},
	}}
	second := &recording{shape: "runbook", ops: []machine.Op{
		{N: 1, Op: "write", Path: "home/state/calls/r-00000000/3-0-1/began"}, {N: 2, Op: "fsync", Path: "home/state"},
		{N: 3, Op: "write", Path: "home/state/calls/r-00000000/3-0-1/began"},
	}}
	points := first.cutPoints()
	if len(points) != 2 {
		t.Fatalf("%d operations make a difference, want 2: %v", len(points), points)
	}
	c := points[1]
	c.model, c.seed, c.resume = "torn", 9, true
	got, err := second.find(strings.TrimPrefix(c.key("runbook"), "power/runbook/"))
	if err != nil || got.at != 3 || got.model != "torn" || got.seed != 9 || !got.resume {
		t.Errorf("%s is %+v, %v", c.key("runbook"), got, err)
	}
	for _, wrong := range []string{"", "write:home/state/none:1/torn/9/judge", "write:x:1/torn/nine/judge"} {
		if _, err := first.find(wrong); err == nil {
			t.Errorf("%q is found", wrong)
		}
	}
}

// What reached another machine stays done; a file may be gone with the disk, or be there in part.
func TestEffectsAtACut(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"effects": "mark-1-a\nmark-1-a\n", "out-mark-1-c.txt": "written\n", "edit-mark-1-e.txt": "one\n"} {
		path := filepath.Join(dir, "work", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &recording{
		hits:  []outsideEffect{{3, "mark-1-k"}, {9, "mark-1-m"}},
		after: map[string]string{"out-mark-1-c.txt": "written\n", "edit-mark-1-e.txt": "one two\n", "patch-mark-1-g.txt": "x\n", "notes.txt": "hay\n"},
	}
	saw, err := p.seen(5, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"mark-1-a": 2, "mark-1-c": 1, "mark-1-k": 1}
	for m := range saw {
		if saw[m] != want[m] {
			t.Errorf("%s happened %d times, want %d", m, saw[m], want[m])
		}
	}
	if len(saw) != len(want) {
		t.Errorf("saw %v, want %v", saw, want)
	}
}

// The judge of a removal sees what became of the run that stays, and only of that.
func TestWhatStaysOfARemoval(t *testing.T) {
	was := func() *journal.Record {
		return &journal.Record{
			Runs:  []journal.Run{{No: 2, ID: "r-stays000", Status: "completed"}},
			Facts: map[int64][]journal.Fact{2: {{Seq: 1, Digest: []byte("a")}, {Seq: 2, Digest: []byte("b")}}},
		}
	}
	x := &removal{recording: &recording{record: was()}, stays: "r-stays000"}
	for name, c := range map[string]struct {
		change func(*journal.Record)
		kind   string
	}{
		"as it was":        {func(*journal.Record) {}, ""},
		"gone":             {func(r *journal.Record) { r.Runs = nil }, judge.Broken},
		"shorter":          {func(r *journal.Record) { r.Facts[2] = r.Facts[2][:1] }, judge.Broken},
		"another fact":     {func(r *journal.Record) { r.Facts[2][1].Digest = []byte("c") }, judge.Broken},
		"another status":   {func(r *journal.Record) { r.Runs[0].Status = "running" }, judge.Broken},
		"output":           {func(r *journal.Record) { r.Missing = []string{"run number 2: the whole output of call 1.0"} }, judge.Lost},
		"output of others": {func(r *journal.Record) { r.Missing = []string{"run number 1: the whole output of call 1.0"} }, ""},
	} {
		r := was()
		c.change(r)
		kind, f := "", x.whole(r)
		if len(f) > 0 {
			kind = f[0].Kind
		}
		if kind != c.kind {
			t.Errorf("%s: %v", name, f)
		}
	}
}
