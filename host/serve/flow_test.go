package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/recovery/journal"
)

// twoPhases is a flow that plans and then builds.
const twoPhases = `{"name":"feature.md","task":"none","parallel":1,"on_fail":"stop","phases":[
	{"name":"plan","outputs":[{"path":"plan.md"}],"tries":2,"on_fail":"stop","rounds":3,"redo":"ask"},
	{"name":"build","after":["plan"],"inputs":[{"path":"plan.md"}],"outputs":[{"path":"claims.md"}],"tries":3,"on_fail":"stop","rounds":3,"redo":"ask"}]}`

// below records a run that carries out a part of another one.
func (w *world) below(id, root, role string) string {
	w.t.Helper()
	thread := "t" + id[1:]
	err := w.journals.Begin(w.t.Context(), id, thread,
		journal.Event{Body: journal.RunCreated{Run: id, Thread: thread, By: "anna", Prompt: "part of it", Folder: "/w", Model: "m", Mode: journal.ModeAsk,
			Family: journal.Family{Parent: root, Root: root, RootThread: "t" + root[1:], Role: role}}},
		journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}},
		journal.Event{Turn: 1, Body: journal.ModelRequested{}})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// feature records a flow of which the first phase is done, and the second asks for the second time.
func (w *world) feature() (root, asks, request string) {
	w.t.Helper()
	root = "r-0000000f"
	err := w.journals.Begin(w.t.Context(), root, "t-0000000f",
		journal.Event{Body: journal.RunCreated{Run: root, Thread: "t-0000000f", By: "anna", Prompt: "# feature", Folder: "/w", Model: "m", Mode: journal.ModeAsk, FlowRun: journal.FlowRun{Flow: json.RawMessage(twoPhases)}}},
		journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1}})
	if err != nil {
		w.t.Fatal(err)
	}
	plan := journal.Artifact{Path: "plan.md", SHA: strings.Repeat("ab", 32), Size: 6000, Copy: "k"}
	starts := func(phase, run string, attempt int, why journal.PhaseWhy, in ...journal.Artifact) {
		w.add(root, journal.Event{Body: journal.FlowPhaseStarted{Phase: phase, Part: journal.PartWork, Run: run, Attempt: attempt, Why: why, In: in, Mode: journal.ModeAsk}})
	}
	ends := func(phase, run string, attempt int, e journal.FlowPhaseEnded) {
		e.Phase, e.Part, e.Run, e.Attempt, e.Took, e.Cost = phase, journal.PartWork, run, attempt, time.Second, 20_000
		w.add(root, journal.Event{Body: e})
	}
	first := w.below("r-00000fa1", root, "plan#1")
	starts("plan", first, 1, journal.WhyFirst)
	w.complete(first, 1)
	ends("plan", first, 1, journal.FlowPhaseEnded{Outcome: journal.PhaseDone, Out: []journal.Artifact{plan}})
	failed := w.below("r-00000fb1", root, "build#1")
	starts("build", failed, 1, journal.WhyFirst, plan)
	w.complete(failed, 1)
	ends("build", failed, 1, journal.FlowPhaseEnded{Outcome: journal.PhaseFailed, Reason: "claims.md is not there"})
	asks = w.below("r-00000fb2", root, "build#2")
	starts("build", asks, 2, journal.WhyTry, plan)
	w.hold(root)
	w.hold(asks)
	return root, asks, w.question(asks, never)
}

// A flow is answered with its table, and everything about it is as it is described: the phases,
// what they made, the runs that carry them out, and the line of a stream that says how they stand.
func TestFlowIsAnswered(t *testing.T) {
	w := newWorld(t).serve()
	root, asks, p := w.feature()
	a := w.ask("GET", "/v1/runs/"+root, "")
	phases, artifacts := a.json(t, "phases").([]any), a.json(t, "artifacts").([]any)
	if len(phases) != 2 || len(artifacts) != 1 {
		t.Fatal(a.text)
	}
	build := phases[1].(map[string]any)
	if got := fmt.Sprint(build["status"], build["run_id"], build["pending_request_id"], build["try"], build["tries"]); got != fmt.Sprint("waiting", asks, p, 2, 3) {
		t.Errorf("build stands so: %s", got)
	}
	if got := artifacts[0].(map[string]any); got["path"] != "plan.md" || got["phase"] != "plan" {
		t.Errorf("plan made %v", got)
	}
	o, _ := w.stream("/v1/runs/" + root + "/events")
	lines := o.until("run.state")
	for _, e := range lines {
		line := reply{status: 200, header: map[string][]string{"Content-Type": {"text/event-stream"}}, text: e.data, line: true}
		if err := described(t).validate("GET", "/v1/runs/{id}/events", line); err != nil {
			t.Errorf("%s: %v", e.data, err)
		}
	}
	below := reply{text: lines[len(lines)-1].data}.json(t, "data children").([]any)
	if len(below) != 1 || below[0].(map[string]any)["role"] != "build#2" || below[0].(map[string]any)["pending_request_id"] != p {
		t.Errorf("below it: %v", below)
	}
	if got := w.ask("GET", "/v1/pending/"+p, ""); got.json(t, "request role") != "build#2" || got.json(t, "request root_run_id") != root {
		t.Error(got.text)
	}
	if got := w.ask("GET", "/v1/runs/"+asks, ""); got.json(t, "run root_run_id") != root || got.json(t, "run role") != "build#2" {
		t.Error(got.text)
	}
}

// A list has the runs that people started, each with the number of those below it; with
// children=true it has those as well, below their roots, as agent ls --children.
func TestListHasRoots(t *testing.T) {
	w := newWorld(t).serve()
	w.hold(w.run("r-00000001", "p"))
	root, asks, _ := w.feature()
	a := w.ask("GET", "/v1/runs", "")
	if got := ids(t, a); got != root+" r-00000001" {
		t.Errorf("without children: %s", got)
	}
	flow := a.json(t, "runs").([]any)[0].(map[string]any)
	if flow["num_children"] != 3.0 || flow["num_children_ended"] != 2.0 || flow["children"] != nil {
		t.Errorf("the flow: %v", flow)
	}
	a = w.ask("GET", "/v1/runs?children=true&limit=1", "")
	below, _ := a.json(t, "runs").([]any)[0].(map[string]any)["children"].([]any)
	if got := ids(t, a); got != root || len(below) != 3 || below[2].(map[string]any)["id"] != asks {
		t.Errorf("with children: %s", a.text)
	}
	if got := ids(t, w.ask("GET", "/v1/runs?children=false", "")); got != root+" r-00000001" {
		t.Errorf("children=false: %s", got)
	}
	w.refused(w.ask("GET", "/v1/runs?children=all", ""), 400, "parameter")
}
