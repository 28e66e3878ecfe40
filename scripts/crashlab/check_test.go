//go:build linux

package main

import (
	"crypto/sha256"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"
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
		{created, 0, `{"prompt":"go"}`}, {claimed, 0, `{"epoch":1,"pid":7}`}, {9, 1, `{}`},
		{answered, 1, `{"calls":[{"id":"c-1","tool":"shell","args":{"command":"echo mark-1-a >> effects"}}]}`},
		{started, 1, `{"turn":1,"index":0,"attempt":1}`}, {interrupted, 1, `{}`}, {claimed, 1, `{"epoch":2,"pid":8}`},
		{judged, 1, `{"turn":1,"index":0,"attempt":1,"verdict":"adopt","reason":"it left an exit record"}`},
		{settled, 1, ok("adopted")}, {19, 1, `{}`}, {completed, 2, `{"text":"done"}`},
	}
}

// write makes a record of the rows: numbered, digested, and with the rows of tables that they lead to.
func write(rows []row) *record {
	r := &record{facts: map[int64][]fact{}, runs: []runRow{{no: 3, id: "r-1", status: "completed", lastSeq: int64(len(rows))}}}
	c := callRow{run: 3, turn: 1, id: "c-1", tool: "shell", phase: "proposed"}
	var prev []byte
	for i, x := range rows {
		sum := sha256.Sum256([]byte(x.body))
		f := fact{seq: int64(i) + 1, id: 3<<24 | int64(i+1), turn: x.turn, kind: x.kind, v: 1, time: int64(i), body: []byte(x.body), hash: sum[:]}
		f.digest = digestOf(prev, f)
		prev = f.digest
		r.facts[3] = append(r.facts[3], f)
		switch x.kind {
		case answered:
			c.proposed = f.seq
		case started:
			c.phase, c.started = "started", f.seq
		case settled:
			c.phase, c.outcome, c.applied, c.settled = "settled", "ok", "yes", f.seq
		}
	}
	r.calls = []callRow{c}
	return r
}

func kinds(f findings) string {
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
func cut(n int, status string) *record {
	r := write(whole()[:n+1])
	r.runs[0].status = status
	return r
}

// The checker finds nothing in what is whole, and names each kind of damage.
func TestCheck(t *testing.T) {
	nobody := func(string) bool { return false }
	for _, c := range []struct {
		name string
		r    *record
		held bool
		want string
	}{
		{"whole", write(whole()), false, ""},
		{"killed, and its owner lives", cut(4, "running"), true, ""},
		{"killed, and nobody marked it", cut(4, "running"), false, stuck},
		{"interrupted", cut(5, "interrupted"), false, ""},
		{"a status that no fact leads to", cut(5, "waiting"), false, broken + ", " + stuck},
		{"it ended without a result", write(without(8)), false, lost},
		{"two results", write(with(8, row{settled, 1, ok("executed")})), false, broken},
		{"started again behind its result", write(with(8, row{started, 1, `{"turn":1,"index":0,"attempt":2}`})), false, twice + ", " + broken},
		{"adopted without a verdict", write(without(7)), false, silent},
		{"a fact behind its end", write(with(10, row{claimed, 2, `{"epoch":3}`})), false, broken + ", " + stuck},
		{"a fact about no call", write(with(8, row{settled, 1, `{"turn":4,"index":2}`})), false, broken},
		{"a fact that is not JSON", write(with(8, row{4, 1, `{`})), false, broken},
		{"a kind that is new", write(with(8, row{99, 1, `{}`})), false, unlisted},
	} {
		t.Run(c.name, func(t *testing.T) {
			held := nobody
			if c.held {
				held = func(string) bool { return true }
			}
			if c.name == "a fact behind its end" {
				c.r.runs[0].status = "running"
			}
			if _, f := check(c.r, held); kinds(f) != c.want {
				t.Errorf("found %q, want %q: %v", kinds(f), c.want, f)
			}
		})
	}
}

// Rows that do not agree with the facts, and rows that are not there.
func TestCheckRows(t *testing.T) {
	for name, change := range map[string]func(*record){
		"gap":              func(r *record) { r.facts[3] = slices.Delete(r.facts[3], 2, 3) },
		"last row missing": func(r *record) { r.facts[3] = r.facts[3][:10]; r.runs[0].status = "running" },
		"time changed":     func(r *record) { r.facts[3][2].time++ },
		"body changed":     func(r *record) { r.facts[3][2].hash = make([]byte, 32) },
		"no run":           func(r *record) { r.facts[4] = r.facts[3] },
		"gap with digests that fit": func(r *record) {
			facts := slices.Delete(r.facts[3], 9, 10)
			facts[9].digest = digestOf(facts[8].digest, facts[9])
			r.facts[3] = facts
			r.runs[0].lastSeq--
		},
		"no row of the call": func(r *record) { r.calls = nil },
		"two rows":           func(r *record) { r.calls = append(r.calls, r.calls[0]) },
		"another call":       func(r *record) { r.calls[0].turn = 9 },
		"another outcome":    func(r *record) { r.calls[0].outcome = "error" },
		"another start":      func(r *record) { r.calls[0].started = 1 },
		"a question that no fact opened": func(r *record) {
			r.requests = []requestRow{{run: 3, id: "p-1", kind: "ask_user", status: "open", opened: 2}}
		},
		"two questions": func(r *record) {
			r.requests = []requestRow{{run: 3, id: "p-1", status: "open", opened: 2}, {run: 3, id: "p-2", status: "open", opened: 2}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := write(whole())
			change(r)
			if _, f := check(r, func(string) bool { return true }); !strings.Contains(kinds(f), broken) {
				t.Errorf("found %v", f)
			}
		})
	}
}

// A question stands from the fact that opens it to the one that takes the answer; an answer that was taken is in the journal.
func TestCheckRequests(t *testing.T) {
	rows := slices.Clone(whole()[:3])
	rows = append(rows, row{opened, 1, `{"request":{"id":"p-1","kind":"max_turns"}}`})
	r := write(rows)
	r.calls, r.runs[0].status = nil, "waiting"
	r.requests = []requestRow{{run: 3, id: "p-1", status: "open", opened: 4}}
	if _, f := check(r, func(string) bool { return false }); len(f) > 0 {
		t.Errorf("a run that waits: %v", f)
	}
	r.requests[0].status = "resolved"
	r.requests[0].consumed = sql.NullInt64{Int64: 4, Valid: true}
	if _, f := check(r, func(string) bool { return true }); kinds(f) != lost {
		t.Errorf("an answer that no fact holds: %v", f)
	}
	if _, f := check(r, func(string) bool { return false }); !strings.Contains(kinds(f), stuck) {
		t.Errorf("a run that waits for nothing: %v", f)
	}
}

// One run asks one thing at a time.
func TestCheckTwoRequests(t *testing.T) {
	rows := append(slices.Clone(whole()[:3]), row{opened, 1, `{"request":{"id":"p-1"}}`}, row{opened, 1, `{"request":{"id":"p-2"}}`})
	r := write(rows)
	r.calls, r.runs[0].status = nil, "waiting"
	r.requests = []requestRow{{run: 3, id: "p-1", status: "open", opened: 4}, {run: 3, id: "p-2", status: "open", opened: 5}}
	if _, f := check(r, func(string) bool { return true }); kinds(f) != broken {
		t.Errorf("found %v", f)
	}
}

// What the witness saw is held against what the results claim.
func TestCompareEffects(t *testing.T) {
	say := func(outcome, applied, how string) []body {
		var b body
		b.Result.Outcome, b.Result.Applied, b.Result.How = outcome, applied, how
		return []body{b}
	}
	done, unknown := say("ok", "yes", "executed"), say("unknown", "unknown", "told")
	skipped, failed := say("skipped", "no", "told"), say("error", "unknown", "executed")
	for _, c := range []struct {
		name   string
		starts int
		result []body
		saw    int
		want   string
	}{
		{"done", 1, done, 1, ""},
		{"done twice", 1, done, 2, twice},
		{"done, and nobody saw it", 1, done, 0, lost},
		{"unknown, and it happened", 1, unknown, 1, ""},
		{"unknown, and it did not", 1, unknown, 0, ""},
		{"unknown, and it happened twice", 1, unknown, 2, twice},
		{"under way", 1, nil, 1, ""},
		{"never started", 0, nil, 0, ""},
		{"never started, and it happened", 0, nil, 1, twice},
		{"skipped, and it happened", 0, skipped, 1, twice},
		{"failed in the middle", 1, failed, 1, ""},
	} {
		h := &history{calls: []*call{{marks: []string{"mark-1-a"}, starts: c.starts, results: c.result}}}
		saw := map[string]int{}
		if c.saw > 0 {
			saw["mark-1-a"] = c.saw
		}
		if f := compareEffects([]*history{h}, saw); kinds(f) != c.want {
			t.Errorf("%s: found %v, want %q", c.name, f, c.want)
		}
	}
	both := &history{calls: []*call{{marks: []string{"mark-1-a"}, starts: 1, results: done}, {marks: []string{"mark-1-a"}, starts: 1, results: done}}}
	if f := compareEffects([]*history{both}, map[string]int{"mark-1-a": 2}); kinds(f) != twice {
		t.Errorf("done by two calls: %v", f)
	}
	if f := compareEffects(nil, map[string]int{"mark-1-q": 1}); kinds(f) != twice {
		t.Errorf("an effect that nobody asked for: %v", f)
	}
}

// A verdict counts as printed where its line stands with its reason; who was killed need not have printed it.
func TestCompareWords(t *testing.T) {
	var b body
	b.Turn, b.Verdict, b.Reason = 1, "skip", "outcome unknown: it began,\nand no record says how it ended"
	all := []*history{{run: runRow{id: "r-1"}, said: []verdict{{b, 7}}}}
	line := "~ 1.0 shell: x: outcome unknown, not executed again (it began, and no record says how it ended)\n"
	for _, c := range []struct {
		o    output
		want string
	}{
		{output{pid: 7, text: "a\n" + line}, ""},
		{output{pid: 7, text: "a\n"}, silent},
		{output{pid: 7, text: "a\n", killed: true}, ""},
		{output{pid: 9, text: "a\n"}, ""},
		{output{pid: 7, text: "~ 1.0 shell: x: outcome unknown, not executed again\n"}, silent},
		{output{pid: 7, text: strings.Replace(line, "1.0", "2.0", 1)}, silent},
		{output{args: []string{"show", "r-1"}, text: "a\n"}, silent},
		{output{args: []string{"show", "r-1"}, text: line}, ""},
	} {
		if f := compareWords(all, []output{c.o}); kinds(f) != c.want {
			t.Errorf("%+v: found %v, want %q", c.o, f, c.want)
		}
	}
}

// What was shown or seen once must be there later.
func TestCompareKept(t *testing.T) {
	all := func() []*history {
		h, _ := check(write(whole()), func(string) bool { return true })
		return h
	}
	if f := compareKept(all(), all()); len(f) > 0 {
		t.Errorf("nothing changed: %v", f)
	}
	other := all()
	other[0].calls[0].results = nil
	if f := compareKept(all(), other); kinds(f) != lost {
		t.Errorf("a result is gone: %v", f)
	}
	if f := compareKept(all(), nil); kinds(f) != lost {
		t.Errorf("a run is gone: %v", f)
	}
	shown := []output{{text: "> 1.0 shell: x\n✓ 1.0 shell: ok, 3ms\n? p-1 answered by root: yes\n"}}
	r := &record{requests: []requestRow{{id: "p-1", status: "resolved"}}}
	if f := compareShown(all()[0], r, shown); len(f) > 0 {
		t.Errorf("all is there: %v", f)
	}
	r.requests[0].status = "open"
	if f := compareShown(other[0], r, shown); len(f) != 2 {
		t.Errorf("a result and an answer are gone: %v", f)
	}
}

// A run is claimed while somebody drives it only if that process was killed before.
func TestOwners(t *testing.T) {
	rows := []row{{created, 0, `{"prompt":"go"}`}, {claimed, 0, `{"epoch":1,"pid":7}`}, {claimed, 0, `{"epoch":2,"pid":8}`}}
	all, _ := check(write(rows), func(string) bool { return true })
	at := time.UnixMicro(2) // write numbers the facts' times
	for name, c := range map[string]struct {
		o     output
		wrong bool
	}{
		"killed before":           {output{pid: 7, killed: true, struck: at.Add(-time.Microsecond)}, false},
		"killed after":            {output{pid: 7, killed: true, struck: at.Add(time.Microsecond)}, true},
		"killed by a fault point": {output{pid: 7, killed: true}, false},
		"ended by itself":         {output{pid: 7}, true},
		"of another process":      {output{pid: 9}, false},
	} {
		if f := compareOwners(all, []output{c.o}); (len(f) > 0) != c.wrong {
			t.Errorf("%s: %v", name, f)
		}
	}
	rows = slices.Insert(rows, 2, row{interrupted, 0, `{}`})
	all, _ = check(write(rows), func(string) bool { return true })
	if f := compareOwners(all, []output{{pid: 7}}); len(f) > 0 {
		t.Errorf("it had let go: %v", f)
	}
}

// Two ends differ in what differs; after an unknown outcome that was left, an effect may be missing.
func TestCompareEnds(t *testing.T) {
	was := end{files: map[string]string{"effects": "mark-a\nmark-c\n", "notes.txt": "n"}, saw: map[string]int{"mark-a": 1, "mark-c": 1}, status: "completed", answer: "done", reads: []string{"r"}}
	change := func(f func(*end)) end {
		is := end{files: map[string]string{}, saw: map[string]int{}, status: was.status, answer: was.answer, reads: was.reads}
		for k, v := range was.files {
			is.files[k] = v
		}
		for k, v := range was.saw {
			is.saw[k] = v
		}
		f(&is)
		return is
	}
	for _, c := range []struct {
		name         string
		is           end
		unsure, left bool
		want         string
	}{
		{"same", change(func(*end) {}), false, false, ""},
		{"another order", change(func(e *end) { e.files["effects"] = "mark-c\nmark-a\n" }), false, false, ""},
		{"a file is missing", change(func(e *end) { delete(e.files, "notes.txt") }), false, false, differs},
		{"a file is left behind", change(func(e *end) { e.files[".tmp"] = "" }), false, false, differs},
		{"an effect is missing", change(func(e *end) { e.saw["mark-a"] = 0 }), false, false, lost},
		{"an effect was left", change(func(e *end) { e.saw["mark-a"] = 0; e.files["effects"] = "mark-c\n" }), true, true, ""},
		{"another answer", change(func(e *end) { e.answer = "no" }), false, false, differs},
		{"another answer after an unknown outcome", change(func(e *end) { e.answer = "no" }), true, false, ""},
		{"it failed", change(func(e *end) { e.status = "failed" }), false, false, differs},
		{"a read brought something else", change(func(e *end) { e.reads = []string{"x"} }), false, false, lost},
	} {
		if f := compareEnds(was, c.is, c.unsure, c.left); kinds(f) != c.want {
			t.Errorf("%s: found %v, want %q", c.name, f, c.want)
		}
	}
}

// A result may hold a part of an output; the whole of it must be there too.
func TestAnOutputThatIsGoneIsLost(t *testing.T) {
	_, f := check(&record{gone: []string{"run number 1: the whole output of call 8.0: no such file"}}, func(string) bool { return true })
	if len(f) != 1 || f[0].Kind != lost {
		t.Errorf("found %v, want a lost result", f)
	}
}
