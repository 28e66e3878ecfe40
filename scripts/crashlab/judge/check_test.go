//go:build linux

package judge

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/scripts/crashlab/journal"
)

// row is a fact as a test writes it.
type row struct {
	kind, turn int64
	body       string
}

func ok(how string) string {
	return `{"turn":1,"index":0,"attempt":1,"result":{"outcome":"ok","applied":"yes","how":"` + how + `","content":"x"}}`
}

// whole is the journal of a run that was killed once, and ended.
func whole() []row {
	return []row{
		{journal.Created, 0, `{"prompt":"go"}`}, {journal.Claimed, 0, `{"epoch":1,"pid":7}`}, {9, 1, `{}`},
		{journal.Answered, 1, `{"calls":[{"id":"c-1","tool":"shell","args":{"command":"echo mark-1-a >> effects"}}]}`},
		{journal.Started, 1, `{"turn":1,"index":0,"attempt":1}`}, {journal.Interrupted, 1, `{}`}, {journal.Claimed, 1, `{"epoch":2,"pid":8}`},
		{journal.Judged, 1, `{"turn":1,"index":0,"attempt":1,"verdict":"adopt","reason":"it left an exit record"}`},
		{journal.Settled, 1, ok("adopted")}, {19, 1, `{}`}, {journal.Completed, 2, `{"text":"done"}`},
	}
}

// write makes a record of the rows: numbered, digested, and with the rows of tables that they lead
// to.
func write(rows []row) *journal.Record {
	r := &journal.Record{Facts: map[int64][]journal.Fact{}, Runs: []journal.Run{{No: 3, ID: "r-1", Status: "completed", LastSeq: int64(len(rows))}}}
	c := journal.Call{Run: 3, Turn: 1, ID: "c-1", Tool: "shell", Phase: "proposed"}
	var prev []byte
	for i, x := range rows {
		sum := sha256.Sum256([]byte(x.body))
		f := journal.Fact{Seq: int64(i) + 1, ID: 3<<24 | int64(i+1), Turn: x.turn, Kind: x.kind, Version: 1, Time: int64(i), Body: []byte(x.body), Hash: sum[:]}
		f.Digest = journal.Digest(prev, f)
		prev = f.Digest
		r.Facts[3] = append(r.Facts[3], f)
		switch x.kind {
		case journal.Answered:
			c.Proposed = f.Seq
		case journal.Started:
			c.Phase, c.Started = "started", f.Seq
		case journal.Settled:
			c.Phase, c.Outcome, c.Applied, c.Settled = "settled", "ok", "yes", f.Seq
		}
	}
	r.Calls = []journal.Call{c}
	return r
}

func kinds(f Findings) string {
	var out []string
	for _, x := range f {
		if !slices.Contains(out, x.Kind) {
			out = append(out, x.Kind)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// without leaves out the n-th row, counted from 0.
func without(n int) []row { return slices.Delete(whole(), n, n+1) }

// with puts rows behind the n-th.
func with(n int, more ...row) []row { return slices.Insert(whole(), n+1, more...) }

// cut ends the journal behind the n-th row, in a status.
func cut(n int, status string) *journal.Record {
	r := write(whole()[:n+1])
	r.Runs[0].Status = status
	return r
}

// The checker finds nothing in what is whole, and names each kind of damage.
func TestCheck(t *testing.T) {
	nobody := func(string) bool { return false }
	for _, c := range []struct {
		name string
		r    *journal.Record
		held bool
		want string
	}{
		{"whole", write(whole()), false, ""},
		{"killed, and its owner lives", cut(4, "running"), true, ""},
		{"killed, and nobody marked it", cut(4, "running"), false, Stuck},
		{"interrupted", cut(5, "interrupted"), false, ""},
		{"a status that no fact leads to", cut(5, "waiting"), false, Broken + ", " + Stuck},
		{"it ended without a result", write(without(8)), false, Lost},
		{"two results", write(with(8, row{journal.Settled, 1, ok("executed")})), false, Broken},
		{"started again behind its result", write(with(8, row{journal.Started, 1, `{"turn":1,"index":0,"attempt":2}`})), false, Twice + ", " + Broken},
		{"adopted without a verdict", write(without(7)), false, Silent},
		{"a fact behind its end", write(with(10, row{journal.Claimed, 2, `{"epoch":3}`})), false, Broken + ", " + Stuck},
		{"a fact about no call", write(with(8, row{journal.Settled, 1, `{"turn":4,"index":2}`})), false, Broken},
		{"a fact that is not JSON", write(with(8, row{4, 1, `{`})), false, Broken},
		{"a kind that is new", write(with(8, row{99, 1, `{}`})), false, Unlisted},
	} {
		t.Run(c.name, func(t *testing.T) {
			held := nobody
			if c.held {
				held = func(string) bool { return true }
			}
			if c.name == "a fact behind its end" {
				c.r.Runs[0].Status = "running"
			}
			if _, f := Check(c.r, held); kinds(f) != c.want {
				t.Errorf("found %q, want %q: %v", kinds(f), c.want, f)
			}
		})
	}
}

// A question that is closed because its run went elsewhere leaves that as it is.
func TestClosedElsewhere(t *testing.T) {
	rows := append(whole()[:5], row{journal.Opened, 1, `{"request":{"id":"p-1"}}`}, row{journal.Interrupted, 1, `{"cause":"moved"}`}, row{journal.Closed, 1, `{"id":"p-1"}`})
	for status, want := range map[string]string{"interrupted": "", "running": Broken} {
		r := write(rows)
		r.Runs[0].Status = status
		if _, f := Check(r, func(string) bool { return true }); kinds(f) != want {
			t.Errorf("%s: found %q, want %q: %v", status, kinds(f), want, f)
		}
	}
}

// Rows that do not agree with the facts, and rows that are not there.
func TestCheckRows(t *testing.T) {
	for name, change := range map[string]func(*journal.Record){
		"gap":              func(r *journal.Record) { r.Facts[3] = slices.Delete(r.Facts[3], 2, 3) },
		"last row missing": func(r *journal.Record) { r.Facts[3] = r.Facts[3][:10]; r.Runs[0].Status = "running" },
		"time changed":     func(r *journal.Record) { r.Facts[3][2].Time++ },
		"body changed":     func(r *journal.Record) { r.Facts[3][2].Hash = make([]byte, 32) },
		"no run":           func(r *journal.Record) { r.Facts[4] = r.Facts[3] },
		"gap with digests that fit": func(r *journal.Record) {
			facts := slices.Delete(r.Facts[3], 9, 10)
			facts[9].Digest = journal.Digest(facts[8].Digest, facts[9])
			r.Facts[3] = facts
			r.Runs[0].LastSeq--
		},
		"no row of the call": func(r *journal.Record) { r.Calls = nil },
		"two rows":           func(r *journal.Record) { r.Calls = append(r.Calls, r.Calls[0]) },
		"another call":       func(r *journal.Record) { r.Calls[0].Turn = 9 },
		"another outcome":    func(r *journal.Record) { r.Calls[0].Outcome = "error" },
		"another start":      func(r *journal.Record) { r.Calls[0].Started = 1 },
		"a question that no fact opened": func(r *journal.Record) {
			r.Requests = []journal.Request{{Run: 3, ID: "p-1", Kind: "ask_user", Status: "open", Opened: 2}}
		},
		"two questions": func(r *journal.Record) {
			r.Requests = []journal.Request{{Run: 3, ID: "p-1", Status: "open", Opened: 2}, {Run: 3, ID: "p-2", Status: "open", Opened: 2}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := write(whole())
			change(r)
			if _, f := Check(r, func(string) bool { return true }); !strings.Contains(kinds(f), Broken) {
				t.Errorf("found %v", f)
			}
		})
	}
}

// A question stands from the fact that opens it to the one that takes the answer; an answer that
// was taken is in the journal.
func TestCheckRequests(t *testing.T) {
	rows := slices.Clone(whole()[:3])
	rows = append(rows, row{journal.Opened, 1, `{"request":{"id":"p-1","kind":"max_turns"}}`})
	r := write(rows)
	r.Calls, r.Runs[0].Status = nil, "waiting"
	r.Requests = []journal.Request{{Run: 3, ID: "p-1", Status: "open", Opened: 4}}
	if _, f := Check(r, func(string) bool { return false }); len(f) > 0 {
		t.Errorf("a run that waits: %v", f)
	}
	r.Requests[0].Status = "resolved"
	r.Requests[0].Consumed = 4
	if _, f := Check(r, func(string) bool { return true }); kinds(f) != Lost {
		t.Errorf("an answer that no fact holds: %v", f)
	}
	if _, f := Check(r, func(string) bool { return false }); !strings.Contains(kinds(f), Stuck) {
		t.Errorf("a run that waits for nothing: %v", f)
	}
}

// One run asks one thing at a time.
func TestCheckTwoRequests(t *testing.T) {
	rows := append(slices.Clone(whole()[:3]), row{journal.Opened, 1, `{"request":{"id":"p-1"}}`}, row{journal.Opened, 1, `{"request":{"id":"p-2"}}`})
	r := write(rows)
	r.Calls, r.Runs[0].Status = nil, "waiting"
	r.Requests = []journal.Request{{Run: 3, ID: "p-1", Status: "open", Opened: 4}, {Run: 3, ID: "p-2", Status: "open", Opened: 5}}
	if _, f := Check(r, func(string) bool { return true }); kinds(f) != Broken {
		t.Errorf("found %v", f)
	}
}

// What the witness saw is held against what the results claim.
func TestCompareEffects(t *testing.T) {
	say := func(outcome, applied, how string) []journal.Body {
		var b journal.Body
		b.Result.Outcome, b.Result.Applied, b.Result.How = outcome, applied, how
		return []journal.Body{b}
	}
	done, unknown := say("ok", "yes", "executed"), say("unknown", "unknown", "told")
	skipped, failed := say("skipped", "no", "told"), say("error", "unknown", "executed")
	for _, c := range []struct {
		name   string
		starts int
		result []journal.Body
		saw    int
		want   string
	}{
		{"done", 1, done, 1, ""},
		{"done twice", 1, done, 2, Twice},
		{"done, and nobody saw it", 1, done, 0, Lost},
		{"unknown, and it happened", 1, unknown, 1, ""},
		{"unknown, and it did not", 1, unknown, 0, ""},
		{"unknown, and it happened twice", 1, unknown, 2, Twice},
		{"under way", 1, nil, 1, ""},
		{"never started", 0, nil, 0, ""},
		{"never started, and it happened", 0, nil, 1, Twice},
		{"skipped, and it happened", 0, skipped, 1, Twice},
		{"failed in the middle", 1, failed, 1, ""},
	} {
		h := &History{Calls: []*Call{{Marks: []string{"mark-1-a"}, Starts: c.starts, Results: c.result}}}
		saw := map[string]int{}
		if c.saw > 0 {
			saw["mark-1-a"] = c.saw
		}
		if f := CompareEffects([]*History{h}, saw); kinds(f) != c.want {
			t.Errorf("%s: found %v, want %q", c.name, f, c.want)
		}
	}
	both := &History{Calls: []*Call{{Marks: []string{"mark-1-a"}, Starts: 1, Results: done}, {Marks: []string{"mark-1-a"}, Starts: 1, Results: done}}}
	if f := CompareEffects([]*History{both}, map[string]int{"mark-1-a": 2}); kinds(f) != Twice {
		t.Errorf("done by two calls: %v", f)
	}
	if f := CompareEffects(nil, map[string]int{"mark-1-q": 1}); kinds(f) != Twice {
		t.Errorf("an effect that nobody asked for: %v", f)
	}
}

// A verdict counts as printed where its line stands with its reason; who was killed need not have
// printed it.
func TestCompareWords(t *testing.T) {
	var b journal.Body
	b.Turn, b.Verdict, b.Reason = 1, "skip", "outcome unknown: it began,\nand no record says how it ended"
	all := []*History{{Run: journal.Run{ID: "r-1"}, Verdicts: []verdict{{b, 7}}}}
	line := "~ 1.0 shell: x: outcome unknown, not executed again (it began, and no record says how it ended)\n"
	for _, c := range []struct {
		o    Output
		want string
	}{
		{Output{PID: 7, Text: "a\n" + line}, ""},
		{Output{PID: 7, Text: "a\n"}, Silent},
		{Output{PID: 7, Text: "a\n", Killed: true}, ""},
		{Output{PID: 9, Text: "a\n"}, ""},
		{Output{PID: 7, Text: "~ 1.0 shell: x: outcome unknown, not executed again\n"}, Silent},
		{Output{PID: 7, Text: strings.Replace(line, "1.0", "2.0", 1)}, Silent},
		{Output{Args: []string{"show", "r-1"}, Text: "a\n"}, Silent},
		{Output{Args: []string{"show", "r-1"}, Text: line}, ""},
	} {
		if f := CompareVerdicts(all, []Output{c.o}); kinds(f) != c.want {
			t.Errorf("%+v: found %v, want %q", c.o, f, c.want)
		}
	}
	b.Verdict, b.Reason = "attach", "waits for people: run r-2, agent answer p-1"
	all = []*History{{Run: journal.Run{ID: "r-1"}, Verdicts: []verdict{{b, 7}}}}
	if f := CompareVerdicts(all, []Output{{PID: 7, Text: "~ 1.0 delegate: picked up, waits for people (run r-2, agent answer p-1)\n"}}); kinds(f) != "" {
		t.Errorf("a call that waits for people: found %v", f)
	}
	if f := CompareVerdicts(all, []Output{{PID: 7, Text: "~ 1.0 delegate: picked up, waits for people\n"}}); kinds(f) != Silent {
		t.Errorf("nobody says who waits: found %v", f)
	}
}

// What was shown or seen once must be there later.
func TestCompareKept(t *testing.T) {
	all := func() []*History {
		h, _ := Check(write(whole()), func(string) bool { return true })
		return h
	}
	if f := CompareKept(all(), all()); len(f) > 0 {
		t.Errorf("nothing changed: %v", f)
	}
	other := all()
	other[0].Calls[0].Results = nil
	if f := CompareKept(all(), other); kinds(f) != Lost {
		t.Errorf("a result is gone: %v", f)
	}
	if f := CompareKept(all(), nil); kinds(f) != Lost {
		t.Errorf("a run is gone: %v", f)
	}
	shown := []Output{{Text: "> 1.0 shell: x\n✓ 1.0 shell: ok, 3ms\n? p-1 answered by root: yes\n"}}
	r := &journal.Record{Requests: []journal.Request{{ID: "p-1", Status: "resolved"}}}
	if f := CompareShown(all()[0], r, shown); len(f) > 0 {
		t.Errorf("all is there: %v", f)
	}
	r.Requests[0].Status = "open"
	if f := CompareShown(other[0], r, shown); len(f) != 2 {
		t.Errorf("a result and an answer are gone: %v", f)
	}
}

// A run is claimed while somebody drives it only if that process was killed before.
func TestOwners(t *testing.T) {
	rows := []row{{journal.Created, 0, `{"prompt":"go"}`}, {journal.Claimed, 0, `{"epoch":1,"pid":7}`}, {journal.Claimed, 0, `{"epoch":2,"pid":8}`}}
	all, _ := Check(write(rows), func(string) bool { return true })
	at := time.UnixMicro(2) // write numbers the facts' times
	for name, c := range map[string]struct {
		o     Output
		wrong bool
	}{
		"killed before":           {Output{PID: 7, Killed: true, KilledAt: at.Add(-time.Microsecond)}, false},
		"killed after":            {Output{PID: 7, Killed: true, KilledAt: at.Add(time.Microsecond)}, true},
		"killed by a fault point": {Output{PID: 7, Killed: true}, false},
		"ended by itself":         {Output{PID: 7}, true},
		"of another process":      {Output{PID: 9}, false},
	} {
		if f := CompareOwners(all, []Output{c.o}); (len(f) > 0) != c.wrong {
			t.Errorf("%s: %v", name, f)
		}
	}
	rows = slices.Insert(rows, 2, row{journal.Interrupted, 0, `{}`})
	all, _ = Check(write(rows), func(string) bool { return true })
	if f := CompareOwners(all, []Output{{PID: 7}}); len(f) > 0 {
		t.Errorf("it had let go: %v", f)
	}
}

// Two ends differ in what differs; after an unknown outcome that was left, an effect may be
// missing.
func TestCompareEnds(t *testing.T) {
	was := End{Files: map[string]string{"effects": "mark-a\nmark-c\n", "notes.txt": "n"}, Saw: map[string]int{"mark-a": 1, "mark-c": 1}, Status: "completed", Answer: "done", Reads: []string{"r"}}
	change := func(f func(*End)) End {
		is := End{Files: map[string]string{}, Saw: map[string]int{}, Status: was.Status, Answer: was.Answer, Reads: was.Reads}
		for k, v := range was.Files {
			is.Files[k] = v
		}
		for k, v := range was.Saw {
			is.Saw[k] = v
		}
		f(&is)
		return is
	}
	for _, c := range []struct {
		name         string
		is           End
		unsure, left bool
		want         string
	}{
		{"same", change(func(*End) {}), false, false, ""},
		{"another order", change(func(e *End) { e.Files["effects"] = "mark-c\nmark-a\n" }), false, false, ""},
		{"a file is missing", change(func(e *End) { delete(e.Files, "notes.txt") }), false, false, Differs},
		{"a file is left behind", change(func(e *End) { e.Files[".tmp"] = "" }), false, false, Differs},
		{"an effect is missing", change(func(e *End) { e.Saw["mark-a"] = 0 }), false, false, Lost},
		{"an effect was left", change(func(e *End) { e.Saw["mark-a"] = 0; e.Files["effects"] = "mark-c\n" }), true, true, ""},
		{"another answer", change(func(e *End) { e.Answer = "no" }), false, false, Differs},
		{"another answer after an unknown outcome", change(func(e *End) { e.Answer = "no" }), true, false, ""},
		{"it failed", change(func(e *End) { e.Status = "failed" }), false, false, Differs},
		{"a read brought something else", change(func(e *End) { e.Reads = []string{"x"} }), false, false, Lost},
	} {
		if f := CompareEnds(was, c.is, c.unsure, c.left); kinds(f) != c.want {
			t.Errorf("%s: found %v, want %q", c.name, f, c.want)
		}
	}
}

// A result may hold a part of an output; the whole of it must be there too.
func TestAnOutputThatIsGoneIsLost(t *testing.T) {
	_, f := Check(&journal.Record{Missing: []string{"run number 1: the whole output of call 8.0: no such file"}}, func(string) bool { return true })
	if len(f) != 1 || f[0].Kind != Lost {
		t.Errorf("found %v, want a lost result", f)
	}
}
