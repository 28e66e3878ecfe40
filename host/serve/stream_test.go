package serve

import (
	"net/http"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// A stream begins with the snapshot, not at zero, and goes on behind its cursor: with the facts
// after it, each once and in order. // promise 3
func TestStreamBegins(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	w.add(run, turn(run, 1, "text", "printed")...)
	o, a := w.stream("/v1/runs/" + run + "/events")
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", a.StatusCode, a.Header)
	}
	first := o.until("run.state")
	if kinds(first) != "run.snapshot run.state" || first[0].id != "" {
		t.Fatalf("without a cursor: %v", first)
	}
	w.add(run, turn(run, 2, "more", "printed")...)
	if got := o.until("turn.settled"); kinds(got) != "model.answered call.started call.settled turn.settled" || !strings.HasPrefix(got[3].id, "12-") {
		t.Fatalf("then: %v", got)
	}
	all, _ := w.stream("/v1/runs/" + run + "/events?after=0")
	events := all.until("run.state")
	if len(events) != 2+13 || events[1].kind != "run.created" || !strings.HasPrefix(events[13].id, "13-") {
		t.Fatalf("from the beginning: %s", kinds(events))
	}
	for _, header := range []string{events[5].id, "5"} { // the header wins over the parameter
		o, _ := w.stream("/v1/runs/"+run+"/events?after=9", "Last-Event-ID", header)
		if got := o.until("call.settled"); kinds(got) != "run.snapshot call.settled" || got[1] != events[6] {
			t.Errorf("after %s: %v", header, got)
		}
	}
}

// A cursor that is none is refused as malformed, one of another history as a conflict; never is
// there a live stream in silence. // promise 3
func TestCursorsThatDoNotFit(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	for cursor, want := range map[string]struct {
		status int
		code   string
	}{
		"x": {400, "cursor_malformed"}, "-1": {400, "cursor_malformed"}, "3-": {400, "cursor_malformed"}, "3-ABCDEF01": {400, "cursor_malformed"},
		"03": {400, "cursor_malformed"}, "0-00000000": {400, "cursor_malformed"},
		"3-00000000": {409, "cursor_foreign"}, "4": {409, "cursor_foreign"}, "999999": {409, "cursor_foreign"},
	} {
		w.refused(w.ask("GET", "/v1/runs/"+run+"/events?after="+cursor, ""), want.status, want.code)
		w.refused(w.ask("GET", "/v1/runs/"+run+"/facts?after="+cursor, ""), want.status, want.code)
		w.refused(w.ask("GET", "/v1/runs/"+run+"/events", "", func(r *http.Request) { r.Header.Set("Last-Event-ID", cursor) }), want.status, want.code)
	}
	for _, bad := range []string{"after=1;x", "after=%zz", "x;y"} { // which net/http leaves out
		w.refused(w.ask("GET", "/v1/runs/"+run+"/events?"+bad, ""), 400, "parameter")
		w.refused(w.ask("GET", "/v1/runs?"+bad, ""), 400, "parameter")
	}
	w.refused(w.ask("GET", "/v1/runs/r-00000009/events", ""), 404, "not_found")
	w.refused(w.ask("GET", "/v1/runs/r-00000009/facts", ""), 404, "not_found")
}

// The stream of a run that has ended ends behind the outcome, and is 204 when it is asked for again
// at the end. That of a waiting run stays open. // promise 5
func TestStreamEnds(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	release := w.hold(run)
	p := w.question(run, never)
	o, _ := w.stream("/v1/runs/" + run + "/events?after=0")
	if got := o.until("run.state"); !strings.HasSuffix(kinds(got), "request.opened run.state") {
		t.Fatalf("%s", kinds(got))
	}
	w.add(run, journal.Event{Turn: 1, Body: journal.RequestAnswered{ID: p, Answer: []byte(`"first"`), By: "anna"}}) // it did stay open
	o.until("request.answered")
	w.add(run, journal.Event{Turn: 1, Body: journal.CallSettled{Place: journal.Place{Turn: 1}, Fingerprint: fingerprint,
		Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedNo, How: journal.HowTold, Content: "first"}}})
	w.add(run, turn(run, 1, "text", "")[3:]...)
	w.complete(run, 2)
	release()
	got := o.until("")
	last := got[len(got)-1]
	if last.kind != "run.outcome" || !strings.Contains(last.data, `"status":"completed"`) || !strings.Contains(last.data, `"result":"done"`) {
		t.Fatalf("the end: %v", last)
	}
	cursor := ""
	for _, e := range got {
		if e.id != "" {
			cursor = e.id
		}
	}
	if a := w.ask("GET", "/v1/runs/"+run+"/events?after="+cursor, ""); a.status != http.StatusNoContent || a.text != "" {
		t.Errorf("again at the end: %d %s", a.status, a.text)
	}
	o, _ = w.stream("/v1/runs/" + run + "/events") // without a cursor there is something to say
	if got := o.until(""); kinds(got) != "run.snapshot run.state run.outcome" {
		t.Errorf("without a cursor: %s", kinds(got))
	}
}

// Pages of facts hold what the stream does, begin at the first fact of a turn when they are read
// backwards, and together have each fact once.
func TestPagesOfFacts(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	for n := 1; n <= 20; n++ {
		w.add(run, turn(run, n, "text", "printed")...)
	}
	o, _ := w.stream("/v1/runs/" + run + "/events?after=0")
	var want []any
	for _, e := range o.until("run.state") {
		if e.id != "" {
			want = append(want, reply{text: e.data}.json(t, ""))
		}
	}
	same := func(how string, got []any) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d facts of %d", how, len(got), len(want))
		}
		for i := range got {
			if a, b := got[i].(map[string]any), want[i].(map[string]any); a["cursor"] != b["cursor"] || a["type"] != b["type"] || a["seq"] != float64(i+1) {
				t.Fatalf("%s: %v instead of %v", how, a, b)
			}
		}
	}
	var forward []any
	for after := ""; ; {
		a := w.ask("GET", "/v1/runs/"+run+"/facts?limit=7&after="+after, "")
		list := a.json(t, "facts").([]any)
		if len(list) == 0 {
			break
		}
		forward, after = append(forward, list...), a.json(t, "cursor").(string)
	}
	same("forward", forward)
	var back []any
	for before, more := "104", true; more; {
		a := w.ask("GET", "/v1/runs/"+run+"/facts?limit=17&before="+before, "")
		list := a.json(t, "facts").([]any)
		if len(list) == 0 || len(list) > 17 {
			t.Fatal(a.text)
		}
		if n := list[0].(map[string]any)["type"]; n != "run.created" && n != "model.requested" {
			t.Fatalf("a page begins with %v", n)
		}
		back = append(list, back...)
		before, more = a.json(t, "next_before").(string)
	}
	same("backward", back)
}

// The list of runs comes in pages that a new run does not move.
func TestPagesOfRuns(t *testing.T) {
	w := newWorld(t).serve()
	for _, id := range []string{"r-00000001", "r-00000002", "r-00000003", "r-00000004", "r-00000005"} {
		w.hold(w.run(id, "Prompt "+id))
	}
	a := w.ask("GET", "/v1/runs?limit=2", "")
	w.hold(w.run("r-00000006", "p"))
	got := ids(t, a)
	for {
		next, more := a.json(t, "next_before").(string)
		if !more {
			break
		}
		a = w.ask("GET", "/v1/runs?limit=2&before="+next, "")
		got += " " + ids(t, a)
	}
	if got != "r-00000005 r-00000004 r-00000003 r-00000002 r-00000001" {
		t.Error(got)
	}
	for query, want := range map[string]string{
		"q=prompt+R-00000003": "r-00000003", "status=completed": "", "folder=/w&limit=1": "r-00000006", "folder=/other": "", "status=running&q=p&limit=1": "r-00000006",
	} {
		if got := ids(t, w.ask("GET", "/v1/runs?"+query, "")); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	if got := ids(t, w.ask("GET", "/v1/threads/t-00000002", "")); got != "r-00000002" {
		t.Error(got)
	}
}

func ids(t *testing.T, a reply) string {
	t.Helper()
	list, ok := a.json(t, "runs").([]any)
	if !ok {
		t.Fatal(a.text)
	}
	var out []string
	for _, v := range list {
		out = append(out, v.(map[string]any)["id"].(string))
	}
	return strings.Join(out, " ")
}

// The output of a call comes whole or by range, as text that no browser runs.
func TestOutput(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	w.add(run, turn(run, 1, "text", "0123456789")...)
	path := "/v1/calls/" + callID(run, 1) + "/output"
	a := w.ask("GET", path, "")
	if a.text != "0123456789" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%v %s", a.header, a.text)
	}
	ranged := func(r string) reply {
		return w.ask("GET", path, "", func(q *http.Request) { q.Header.Set("Range", r) })
	}
	if a := ranged("bytes=3-5"); a.status != http.StatusPartialContent || a.text != "345" || a.header.Get("Content-Range") != "bytes 3-5/10" {
		t.Errorf("%d %v %s", a.status, a.header, a.text)
	}
	none := ranged("bytes=20-")
	w.refused(none, http.StatusRequestedRangeNotSatisfiable, "range")
	if got := none.header.Get("Content-Range"); got != "bytes */10" {
		t.Errorf("Content-Range: %s", got)
	}
	w.add(run, turn(run, 2, "text", "")[:2]...)
	w.refused(w.ask("GET", "/v1/calls/"+callID(run, 2)+"/output", ""), 409, "running")
	if a := w.ask("GET", "/v1/calls/"+callID(run, 2), ""); a.json(t, "call phase") != "started" {
		t.Error(a.text)
	}
}
