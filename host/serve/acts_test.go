package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/recovery/journal"
)

// never is the time at which a question without an end is closed.
var never time.Time

// A question is answered once: the same answer again is none, another is refused with the first, a
// wrong shape leaves it open, and who answered is not taken from the body. // promise 10, S10
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	w.folder.Who = "anna"
	w.serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	p := w.question(run, never)
	path := "/v1/pending/" + p + "/answer"
	for body, code := range map[string]string{
		`{"answer":"third"}`: "shape", `{"answer":["first"]}`: "shape", `{"answer":null}`: "shape",
		`{}`: "json", ``: "json", `{"answer":"first","by":"root"}`: "json", `{"answer":"first","approved":true}`: "json",
	} {
		status := 400
		if code == "shape" {
			status = 422
		}
		w.refused(w.ask("POST", path, body), status, code)
	}
	if a := w.ask("GET", "/v1/pending/"+p, ""); a.json(t, "request status") != "open" || a.json(t, "request shown") != "which one?\n  1  first\n  2  second" {
		t.Fatalf("the question: %s", a.text)
	}
	for range 2 { // the same again is 200
		a := w.ask("POST", path, `{"answer": "first"}`)
		if a.status != 200 || a.json(t, "request answer") != "first" || a.json(t, "request answered_by") != "anna (api)" || a.json(t, "taken") != false || a.json(t, "run id") != run {
			t.Fatalf("%d %s", a.status, a.text)
		}
	}
	other := w.ask("POST", path, `{"answer":"second"}`)
	w.refused(other, 409, "answered")
	if other.json(t, "pending_request answer") != "first" || other.json(t, "run_id") != run {
		t.Errorf("the conflict does not show the first answer: %s", other.text)
	}
	w.refused(w.ask("POST", "/v1/pending/"+p+"/withdraw", ``), 409, "answered")
	row, err := w.folder.Store.PendingByID(t.Context(), p)
	if err != nil || row.By != "anna (api)" || string(row.Answer) != `"first"` {
		t.Errorf("the row: %+v, %v", row, err)
	}
	w.refused(w.ask("POST", "/v1/pending/p-00000009/answer", `{"answer":"first"}`), 404, "not_found")
}

// Where an older database was put back, a person decides first whether it counts: until then
// nothing goes on with an answer, and the refusal names the command. Then the server takes it.
func TestAnswerBeforeOlderDatabaseIsDecided(t *testing.T) {
	w := newWorld(t)
	h := &heldUp{began: make(chan string, 1), goOn: make(chan struct{})}
	close(h.goOn)
	w.carrier = h
	w.serve()
	run := w.run("r-00000001", "p")
	path := "/v1/pending/" + w.question(run, never) + "/answer"
	undo, err := w.journals.Older()
	if err != nil {
		t.Fatal(err)
	}
	a := w.ask("POST", path, `{"answer":"first"}`)
	w.refused(a, 409, "behind")
	if text := a.json(t, "detail").(string); !strings.Contains(text, "older than the folder around it") || !strings.Contains(text, run) || strings.Contains(text, w.home) {
		t.Error(text)
	}
	if fmt.Sprint(a.json(t, "next")) != "[agent restore --here]" {
		t.Error(a.text)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if a := w.ask("POST", path, `{"answer":"first"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// What a page does is on record as that, and not as a program's. // S10
func TestAnswerByThePage(t *testing.T) {
	w := newWorld(t)
	w.folder.Who = "anna"
	w.serve().door()
	session := w.login()
	run := w.run("r-00000001", "p")
	w.hold(run)
	p := w.question(run, never)
	a := w.at("POST", "/v1/pending/"+p+"/answer", `{"answer":"first"}`, bearer(session))
	if a.status != 200 || a.json(t, "request answered_by") != "anna (page)" {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// Two windows that answer at once: one is first, and the other sees which. // promise 10
func TestTwoAnswersAtOnce(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	p := w.question(run, never)
	got := make(chan int, 2)
	for _, answer := range []string{"first", "second"} {
		go func() { got <- w.ask("POST", "/v1/pending/"+p+"/answer", `{"answer":"`+answer+`"}`).status }()
	}
	if a, b := <-got, <-got; a+b != 200+409 {
		t.Errorf("got %d and %d", a, b)
	}
}

// What ran out of time is gone; what was withdrawn is withdrawn once more. // promise 10
func TestQuestionsThatEnded(t *testing.T) {
	w := newWorld(t).serve()
	late, gone := w.run("r-00000001", "p"), w.run("r-00000002", "p")
	w.hold(late)
	w.hold(gone)
	p := w.question(late, time.Now().Add(-time.Hour))
	for range 2 { // it is closed by the first
		w.refused(w.ask("POST", "/v1/pending/"+p+"/answer", `{"answer":"first"}`), 410, "expired")
	}
	p = w.question(gone, never)
	for range 2 {
		if a := w.ask("POST", "/v1/pending/"+p+"/withdraw", `{}`); a.status != 200 || a.json(t, "request status") != "cancelled" {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
	w.refused(w.ask("POST", "/v1/pending/"+p+"/answer", `{"answer":"first"}`), 409, "answered")
}

// A cancel is durable before it is acknowledged; asked again it is one; a run that ended is
// answered with itself. // promise 7
func TestCancel(t *testing.T) {
	w := newWorld(t)
	held, alone, over := w.run("r-00000001", "p"), w.run("r-00000002", "p"), w.run("r-00000003", "p")
	w.hold(held)
	w.complete(over, 1)
	w.question(alone, never)
	w.serve()
	for range 2 {
		if a := w.ask("POST", "/v1/runs/"+held+"/cancel", ""); a.status != 202 || a.json(t, "run id") != held {
			t.Fatalf("%d %s", a.status, a.text)
		}
		rows, err := w.folder.Store.Inbox(t.Context(), held)
		if err != nil || len(rows) != 1 || rows[0].Kind != "cancel" || rows[0].By != w.folder.Who+byToken {
			t.Fatalf("the inbox of the run: %+v, %v", rows, err)
		}
	}
	if len(w.finished) != 0 {
		t.Errorf("a process was started for a run that has an owner: %v", w.finished)
	}
	w.s.o.Finish = func(run string) error {
		if rows, err := w.folder.Store.Inbox(t.Context(), run); err != nil || len(rows) != 1 {
			t.Errorf("the request is not durable when others are started: %+v, %v", rows, err)
		}
		w.finished = append(w.finished, run)
		return nil
	}
	if a := w.ask("POST", "/v1/runs/"+alone+"/cancel", "{}"); a.status != 202 || len(w.finished) != 1 || w.finished[0] != alone {
		t.Errorf("%d %s, %v", a.status, a.text, w.finished)
	}
	if a := w.ask("POST", "/v1/runs/"+over+"/cancel", "{}"); a.status != 200 || a.json(t, "run status") != "completed" {
		t.Errorf("%d %s", a.status, a.text)
	}
	if rows, err := w.folder.Store.Inbox(t.Context(), over); err != nil || len(rows) != 0 {
		t.Errorf("a run that ended is asked for its end: %+v, %v", rows, err)
	}
}

// A message for the model of a run is kept before it is acknowledged; a run that no model would
// read it in refuses it, with what does. // issue 17, part 2
func TestTell(t *testing.T) {
	w := newWorld(t)
	run, over := w.run("r-00000001", "p"), w.run("r-00000002", "p")
	w.complete(over, 1)
	w.serve()
	a := w.ask("POST", "/v1/runs/"+run+"/tell", `{"message":"leave the tests"}`)
	if a.status != 202 || a.json(t, "run_id") != run || a.json(t, "message") != "leave the tests" {
		t.Fatalf("%d %s", a.status, a.text)
	}
	rows, err := w.folder.Store.Inbox(t.Context(), run)
	if err != nil || len(rows) != 1 || rows[0].Kind != "tell" || rows[0].By != w.folder.Who+byToken || string(rows[0].Body) != `{"text":"leave the tests"}` {
		t.Errorf("the inbox of the run: %+v, %v", rows, err)
	}
	w.refused(w.ask("POST", "/v1/runs/"+over+"/tell", `{"message":"too late"}`), 409, "finished")
	w.refused(w.ask("POST", "/v1/runs/r-99999999/tell", `{"message":"who"}`), 404, "not_found")
	w.refused(w.ask("POST", "/v1/runs/"+run+"/tell", `{"message":" "}`), 422, "shape")
	w.refused(w.ask("POST", "/v1/runs/"+run+"/tell", `{"text":"x"}`), 400, "json")
}

// What a person knows of a call of unknown outcome is recorded, once.
func TestResolution(t *testing.T) {
	w := newWorld(t)
	run := w.run("r-00000001", "p")
	facts := turn(run, 1, "text", "")
	settled, ok := facts[2].Body.(journal.CallSettled)
	if !ok {
		t.Fatal(facts[2])
	}
	settled.Result = journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold}
	facts[2].Body = settled
	w.add(run, facts...)
	w.complete(run, 2)
	w.serve()
	call := callID(run, 1)
	path := "/v1/calls/" + call + "/resolution"
	w.refused(w.ask("POST", path, `{"word":"run"}`), 422, "shape")
	w.refused(w.ask("POST", path, `{}`), 422, "shape")
	for range 2 {
		if a := w.ask("POST", path, `{"word":"happened"}`); a.status != 200 || a.json(t, "call resolved") != "happened" {
			t.Fatalf("%d %s", a.status, a.text)
		}
	}
	w.refused(w.ask("POST", path, `{"word":"leave"}`), 409, "resolved")
}

// Closing streams, and the end of the server, however it comes, touch no run. // promise 7
func TestWindowsTouchNothing(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	before, err := w.folder.Store.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		o, _ := w.stream("/v1/runs/" + run + "/events?after=0")
		o.until("model.requested")
		o.close()
	}
	o, _ := w.stream("/v1/runs/" + run + "/events?after=0")
	o.until("run.state")
	w.stop()
	o.until("") // the server's end is the stream's
	after, err := w.folder.Store.Head(t.Context(), run)
	rows, inboxErr := w.folder.Store.Inbox(t.Context(), run)
	if err != nil || inboxErr != nil || after.Seq != before.Seq || after.Status != before.Status || len(rows) != 0 {
		t.Errorf("before %+v, after %+v, inbox %v, %v %v", before, after, rows, err, inboxErr)
	}
}

// A state folder has one server, and whoever starts another sees which.
func TestOneServer(t *testing.T) {
	w := newWorld(t).serve()
	_, err := New(Options{App: w.app, Folder: w.folder, Say: func(string, ...any) {}})
	if err == nil || !strings.Contains(err.Error(), w.folder.Self.String()+" serves this state folder already (since ") {
		t.Errorf("got %v", err)
	}
	if a := w.ask("GET", "/v1/server", ""); a.status != http.StatusOK || a.json(t, "pid") != float64(os.Getpid()) {
		t.Errorf("%d %s", a.status, a.text)
	}
	var v about
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(w.home, aboutName))), &v); err != nil || v.Socket != filepath.Join(w.home, socketName) || v.PID != os.Getpid() {
		t.Errorf("%+v, %v", v, err)
	}
	w.stop()
	w.serve() // the lock is free again, and the token the same
}

// A server that cannot write where it is serves all the same, and says so: the disk is full.
func TestServerWithoutItsFile(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.home, aboutName), 0o700); err != nil { // which no file replaces
		t.Fatal(err)
	}
	w.serve()
	if a := w.ask("GET", "/v1/server", ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.text)
	}
	w.stop()
	if said := strings.Join(w.said, "\n"); !strings.Contains(said, "warning: write serve.json: ") {
		t.Error(said)
	}
}

// Whoever has a run go on learns that its end was asked for before.
func TestCancelIsKept(t *testing.T) {
	w := newWorld(t)
	run, other := w.run("r-00000001", "p"), w.run("r-00000002", "p")
	if _, err := w.folder.AskCancel(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{run: true, other: false} {
		if got, err := w.folder.CancelKept(t.Context(), id); err != nil || got != want {
			t.Errorf("run %s: %v, %v", id, got, err)
		}
	}
}
