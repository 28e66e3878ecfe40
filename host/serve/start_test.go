package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agent/host/launch"
	"agent/host/view"
	"agent/recovery/journal"
)

// launcher stands for the processes that carry out jobs.
type launcher struct {
	starts
	jobs []launch.Job
	do   func(launch.Job) (launch.Answer, error)
}

func (l *launcher) Start(_ context.Context, job launch.Job) (launch.Answer, error) {
	l.mu.Lock()
	l.jobs = append(l.jobs, job)
	l.mu.Unlock()
	return l.do(job)
}

func ended(t *testing.T, v any) launch.Answer {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return launch.Answer{Ended: &launch.Ended{Code: 1, Out: string(text)}}
}

func withKey(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Idempotency-Key", key) }
}

// record records a run as the process of a job does.
func (w *world) record(job launch.Job, key string) {
	thread := "t" + job.Run[1:]
	err := w.journals.Begin(context.Background(), job.Run, thread,
		journal.Event{Body: journal.RunCreated{Run: job.Run, Thread: thread, By: job.By, Prompt: "p", Folder: "/w", Model: "m", Mode: journal.ModeAsk, Called: journal.Called{StartKey: key, StartDigest: "d"}}},
		journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1, Detached: true}})
	if err != nil {
		w.t.Error(err)
	}
}

// What is asked for becomes the command line that does it, and nothing of the body says by whom; a
// run is answered with once it is recorded. // promise 8, S10
func TestStart(t *testing.T) {
	w := newWorld(t)
	w.folder.Who = "anna"
	l := &launcher{do: func(job launch.Job) (launch.Answer, error) {
		w.record(job, "")
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}, Notes: []string{"agent: something"}}, nil
	}}
	w.carrier = l
	w.serve()
	dir := t.TempDir()
	a := w.ask("POST", "/v1/runs", fmt.Sprintf(`{"prompt":"--help","folder":%q,"model":"m/x","mode":"auto","max_turns":7,"max_cost_usd":2.50,"expire":"48h","runbook":true}`, dir), withKey("k 1"))
	if len(l.jobs) != 1 || a.status != 201 || a.json(t, "run_id") != l.jobs[0].Run || a.json(t, "submitted") != true || a.json(t, "reused") != false || a.header.Get("Location") != "/v1/runs/"+l.jobs[0].Run {
		t.Fatalf("%d %s", a.status, a.text)
	}
	if got := fmt.Sprint(a.json(t, "notes")); got != "[agent: something]" || !strings.HasPrefix(fmt.Sprint(a.json(t, "cursor")), "2-") {
		t.Error(a.text)
	}
	want := []string{"run", "--json", "--no-recover", "--dir=" + dir, "--model=m/x", "--mode=auto", "--max-turns=7", "--max-cost=2.50", "--expire=48h", "--start-key=k 1", "--runbook", "--", "--help"}
	if !slices.Equal(l.jobs[0].Args, want) || l.jobs[0].By != "anna (api)" {
		t.Errorf("%q by %q", l.jobs[0].Args, l.jobs[0].By)
	}
	for body, code := range map[string]string{
		`{}`: "shape", `{"prompt":""}`: "shape", `{"prompt":"-","folder":"/"}`: "shape", `{"prompt":"p"}`: "shape", `{"prompt":"p","folder":"w"}`: "shape",
		`{"prompt":"p","folder":"/there/is/none"}`: "folder_gone", `{"prompt":"p","thread":"t-0000000z"}`: "not_found",
		`{"prompt":"p","folder":"/","by":"root"}`: "json", `{"prompt":"p","folder":"/","approved":true}`: "json", `{"prompt":"p","folder":"/","run":"r-1"}`: "json",
		`{"prompt":"p","folder":"/","max_turns":"many"}`: "json", `[]`: "json",
	} {
		status := map[string]int{"shape": 422, "folder_gone": 422, "not_found": 404, "json": 400}[code]
		w.refused(w.ask("POST", "/v1/runs", body), status, code)
	}
	body := `{"prompt":"p","folder":"/"}`
	w.refused(w.ask("POST", "/v1/runs", body, withKey("a\tb")), 400, "parameter")
	w.refused(w.ask("POST", "/v1/runs", body, withKey("")), 400, "parameter")
	w.refused(w.ask("POST", "/v1/runs", body, func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"a", "b"} }), 400, "parameter")
	w.refused(w.ask("POST", "/v1/runs", body, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), 415, "media_type")
	if len(l.jobs) != 1 {
		t.Errorf("%d processes were started", len(l.jobs))
	}
}

// A process that ends without an answer leaves the database to say what became of the run: recorded
// is started, under its id or its key, and else whoever asked asks again. // promise 8
func TestStartWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	body, first := `{"prompt":"p","folder":"/"}`, ""
	l := &launcher{}
	w.carrier = l
	w.serve()
	l.do = func(job launch.Job) (launch.Answer, error) { return launch.Answer{}, launch.ErrNoAnswer }
	w.refused(w.ask("POST", "/v1/runs", body, withKey("k")), 503, "not_started")
	l.do = func(job launch.Job) (launch.Answer, error) { return launch.Answer{}, errors.New("no processes left") }
	w.refused(w.ask("POST", "/v1/runs", body, withKey("k")), 503, "not_started")
	l.do = func(job launch.Job) (launch.Answer, error) {
		first = job.Run
		w.record(job, "k")
		return launch.Answer{}, launch.ErrNoAnswer
	}
	if a := w.ask("POST", "/v1/runs", body, withKey("k")); a.status != 201 || a.json(t, "run_id") != first {
		t.Errorf("%d %s", a.status, a.text)
	}
	for _, again := range []func(launch.Job) (launch.Answer, error){
		func(launch.Job) (launch.Answer, error) { return launch.Answer{}, launch.ErrNoAnswer },
		func(launch.Job) (launch.Answer, error) {
			return launch.Answer{Accepted: &launch.Accepted{Run: first}}, nil
		},
		func(launch.Job) (launch.Answer, error) {
			return ended(t, map[string]any{"run_id": first, "status": "running", "reused": true}), nil
		},
	} {
		l.do = again
		if a := w.ask("POST", "/v1/runs", body, withKey("k")); a.status != 200 || a.json(t, "run_id") != first || a.json(t, "reused") != true || a.json(t, "submitted") != false {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
}

// What the process is refused is refused here, with a status and a code for each reason.
func TestStartIsRefused(t *testing.T) {
	w := newWorld(t)
	l := &launcher{}
	w.carrier = l
	w.serve()
	busy := w.run("r-00000001", "p")
	w.hold(busy)
	p := w.question(busy, never)
	for code, status := range map[string]int{
		view.CodeThreadBusy: 409, view.CodeHeld: 409, view.CodeKeyReused: 422, view.CodeFolderGone: 422, view.CodeLooser: 422, view.CodeBehind: 409, view.CodeDiskFull: 507, view.CodeReadOnly: 507, "": 422,
	} {
		l.do = func(launch.Job) (launch.Answer, error) {
			return ended(t, view.Refusal{RunID: busy, Status: view.StatusRefused, Code: code, Error: "it cannot be", Next: []string{"agent show " + busy}}), nil
		}
		a := w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/"}`)
		if code == "" {
			code = "refused"
		}
		w.refused(a, status, code)
		detail := "it cannot be"
		if code == view.CodeDiskFull {
			detail = diskFull + ": " + detail
		}
		if a.json(t, "detail") != detail || fmt.Sprint(a.json(t, "next")) != "[agent show "+busy+"]" {
			t.Error(a.text)
		}
		if code == view.CodeThreadBusy && (a.json(t, "run_id") != busy || a.json(t, "pending_request id") != p || a.json(t, "reused") != true || a.json(t, "submitted") != false) { // promise 9
			t.Error(a.text)
		}
	}
	l.do = func(launch.Job) (launch.Answer, error) {
		return launch.Answer{Ended: &launch.Ended{Code: 1}, Notes: []string{"agent: the first line", "       the second"}}, nil
	}
	if a := w.ask("POST", "/v1/runs", `{"prompt":"p","folder":"/"}`); a.status != 422 || a.json(t, "detail") != "the first line\n       the second" {
		t.Error(a.text)
	}
}

// No more runs are driven at a time than a number, those included that are being started; the run
// of a key is none more.
func TestTooMany(t *testing.T) {
	w := newWorld(t)
	l := &launcher{}
	w.carrier = l
	w.serve()
	for i := range mostDriven - 1 {
		w.hold(w.run(fmt.Sprintf("r-%08d", i), "p"))
	}
	waiting := w.question("r-00000000", never)
	body := `{"prompt":"p","folder":"/"}`
	inside, leave := make(chan struct{}), make(chan struct{})
	l.do = func(job launch.Job) (launch.Answer, error) {
		w.record(job, "k")
		close(inside)
		<-leave
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}
	got := make(chan reply, 1)
	go func() { got <- w.ask("POST", "/v1/runs", body, withKey("k")) }()
	<-inside
	w.refused(w.ask("POST", "/v1/runs", body), 503, "too_many")
	close(leave)
	first := <-got
	if first.status != 201 {
		t.Fatalf("%d %s", first.status, first.text)
	}
	run := fmt.Sprint(first.json(t, "run_id"))
	release := w.hold(run)
	w.refused(w.ask("POST", "/v1/runs", body, withKey("another")), 503, "too_many")
	l.do = func(launch.Job) (launch.Answer, error) {
		return launch.Answer{Accepted: &launch.Accepted{Run: run}}, nil
	}
	if a := w.ask("POST", "/v1/runs", body, withKey("k")); a.status != 200 {
		t.Errorf("%d %s, and the question is %s", a.status, a.text, waiting)
	}
	release()
	l.do = func(job launch.Job) (launch.Answer, error) {
		w.record(job, "")
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}
	if a := w.ask("POST", "/v1/runs", body); a.status != 201 {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// A run goes on by a process of its own, unless another drives it or it has ended.
func TestResume(t *testing.T) {
	w := newWorld(t)
	w.folder.Who = "anna"
	l := &launcher{}
	w.carrier = l
	w.serve()
	alone, held, over := w.run("r-00000001", "p"), w.run("r-00000002", "p"), w.run("r-00000003", "p")
	w.complete(over, 1)
	w.add(alone, journal.Event{Body: journal.RunInterrupted{Cause: journal.CauseCrash}})
	w.hold(held)
	l.do = func(job launch.Job) (launch.Answer, error) {
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Args[len(job.Args)-1]}}, nil
	}
	if a := w.ask("GET", "/v1/runs/"+alone, ""); fmt.Sprint(a.json(t, "can")) != "[resume cancel]" {
		t.Error(a.text)
	}
	a := w.ask("POST", "/v1/runs/"+alone+"/resume", `{"mode":"plan","max_turns":3,"takeover":true}`)
	if a.status != 202 || a.json(t, "run id") != alone {
		t.Fatalf("%d %s", a.status, a.text)
	}
	if want := []string{"resume", "--json", "--no-recover", "--mode=plan", "--max-turns=3", "--takeover", alone}; !slices.Equal(l.jobs[0].Args, want) || l.jobs[0].By != "anna (api)" {
		t.Errorf("%q by %q", l.jobs[0].Args, l.jobs[0].By)
	}
	taken := w.ask("POST", "/v1/runs/"+held+"/resume", `{}`)
	w.refused(taken, 409, "held")
	if !strings.Contains(taken.text, "process ") || !strings.Contains(taken.text, "agent resume --takeover "+held) {
		t.Error(taken.text)
	}
	w.refused(w.ask("POST", "/v1/runs/"+over+"/resume", `{}`), 409, "finished")
	w.refused(w.ask("POST", "/v1/runs/r-0000000z/resume", `{}`), 404, "not_found")
	w.refused(w.ask("POST", "/v1/runs/"+alone+"/resume", `{"by":"root"}`), 400, "json")
	if len(l.jobs) != 1 {
		t.Errorf("%d processes were started", len(l.jobs))
	}
	l.do = func(launch.Job) (launch.Answer, error) { return launch.Answer{}, launch.ErrNoAnswer }
	w.refused(w.ask("POST", "/v1/runs/"+alone+"/resume", `{}`), 503, "not_started")
	l.do = func(launch.Job) (launch.Answer, error) {
		w.hold(alone)
		return launch.Answer{}, launch.ErrNoAnswer
	}
	if a := w.ask("POST", "/v1/runs/"+alone+"/resume", `{}`); a.status != 202 || a.json(t, "run owner") == nil { // it is driven
		t.Errorf("%d %s", a.status, a.text)
	}
}

const planJSON = `{"version":1,"run_id":"r-00000001","prompt":"p","replayed":0,"steps":[],"then":"x","notes":[]}`

// A plan is what the process of a dry run prints.
func TestPlan(t *testing.T) {
	w := newWorld(t)
	l := &launcher{do: func(launch.Job) (launch.Answer, error) {
		return launch.Answer{Ended: &launch.Ended{Out: planJSON}}, nil
	}}
	w.carrier = l
	w.serve()
	run := w.run("r-00000001", "p")
	if a := w.ask("GET", "/v1/runs/"+run+"/plan", ""); a.status != 200 || a.json(t, "then") != "x" || !slices.Equal(l.jobs[0].Args, []string{"resume", "--dry-run", "--json", run}) {
		t.Errorf("%d %s", a.status, a.text)
	}
	w.refused(w.ask("GET", "/v1/runs/r-0000000z/plan", ""), 404, "not_found")
	w.refused(w.ask("GET", "/v1/runs/"+run+"/plan?x=1", ""), 400, "parameter")
}
