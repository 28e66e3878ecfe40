package table_test

import (
	"agent/host/flow/table"
	"agent/recovery"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// story is a flow whose facts come one after the other.
type story struct {
	t        *testing.T
	s        *flow.State
	n        int64
	children map[string]table.Child
}

// feature is scout > plan > build > review, where review says yes or no to the work.
func feature() *flow.Definition {
	phase := func(name, after, in, out string, more func(*flow.Phase)) flow.Phase {
		p := flow.Phase{Name: name, Tries: 2, OnFail: flow.FailStop, Redo: flow.RedoAsk, Outputs: []flow.Output{{Path: out}}}
		if after != "" {
			p.After = []string{after}
		}
		if in != "" {
			p.Inputs = []flow.Input{{Path: in}}
		}
		more(&p)
		return p
	}
	return &flow.Definition{Name: "feature.md", Parallel: 4, OnFail: flow.FailStop, Phases: []flow.Phase{
		phase("scout", "", "SPEC.md", "scout.md", func(p *flow.Phase) { p.Mode = journal.ModePlan }),
		phase("plan", "scout", "scout.md", "plan.md", func(p *flow.Phase) { p.Mode = journal.ModePlan }),
		phase("build", "plan", "plan.md", "claims.md", func(p *flow.Phase) { p.Tries, p.Checks = 3, []flow.Command{{Run: "true"}} }),
		phase("review", "build", "claims.md", "review.md", func(p *flow.Phase) { p.Pass, p.OnFail = "VERDICT: PASS", flow.FailAsk }),
	}}
}

func begin(t *testing.T, d *flow.Definition) *story {
	t.Helper()
	s, err := flow.New(d)
	if err != nil {
		t.Fatal(err)
	}
	v := &story{t: t, s: s, children: map[string]table.Child{}}
	v.fact(journal.RunCreated{Run: "r-flow", Mode: journal.ModeAuto}, journal.RunClaimed{Epoch: 1}, journal.ArtifactsChecked{Epoch: 1})
	return v
}

func (v *story) fact(bodies ...journal.Body) {
	v.t.Helper()
	for _, b := range bodies {
		v.n++
		if err := v.s.Apply(journal.Event{Seq: v.n, Body: b}); err != nil {
			v.t.Fatal(err)
		}
	}
}

func file(path string, version int, size int64) journal.Artifact {
	return journal.Artifact{Path: path, SHA: strings.Repeat(fmt.Sprintf("%x", version%16), 64), Size: size, Copy: "k"}
}

// starts lets the work of a phase begin under a run.
func (v *story) starts(phase, run string, why journal.PhaseWhy, in ...journal.Artifact) {
	v.t.Helper()
	v.fact(journal.FlowPhaseStarted{Phase: phase, Part: journal.PartWork, Run: run, Why: why, In: in, Mode: v.mode(phase)})
}

func (v *story) mode(phase string) journal.Mode { return v.s.Def.Phase(phase).Mode }

// ends is how the work of a phase came out.
func (v *story) ends(phase, run string, outcome journal.PhaseOutcome, reason string, out ...journal.Artifact) {
	v.t.Helper()
	v.fact(journal.FlowPhaseEnded{
		Phase: phase, Part: journal.PartWork, Run: run, Outcome: outcome, Reason: reason, Out: out, Quiet: true,
		Usage: journal.Usage{Input: 900, Output: 100}, Cost: 20_000, Took: 41 * time.Second,
	})
}

// row is a phase in one line.
func (v *story) row(p table.Phase, made []table.Artifact) string {
	text := fmt.Sprintf("%s %s [%s] %s %s $%d", p.Label(), p.StatusText(), p.TryText(), p.Run, p.Took(), p.Cost/10_000)
	for _, a := range made {
		text += fmt.Sprintf("; %s %d %s", a.Path, a.Bytes, strings.Join(append([]string{a.Digest[:2]}, a.Notes()...), ","))
	}
	if p.Request != "" {
		text += " ?" + p.Request
	}
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text
}

func (v *story) want(rows ...string) *table.Table {
	v.t.Helper()
	tab := table.New(v.s, v.children)
	var got []string
	for _, p := range tab.Phases {
		made := tab.Of(p)
		if p.Each != "" {
			made = nil
		}
		got = append(got, v.row(p, made))
		for _, x := range p.Branches {
			got = append(got, v.row(x, tab.Of(x)))
		}
	}
	for i := range max(len(got), len(rows)) {
		switch {
		case i >= len(rows):
			v.t.Errorf("one more row:\n %s", got[i])
		case i >= len(got) || got[i] != rows[i]:
			v.t.Errorf("row %d is\n %s\nnot\n %s", i, append(got, make([]string, len(rows))...)[i], rows[i])
		}
	}
	return tab
}

const notYet = " not yet []  0s $0"

// planned has scout and plan done.
func planned(t *testing.T) *story {
	v := begin(t, feature())
	v.want("scout"+notYet, "plan"+notYet, "build"+notYet, "review"+notYet)
	v.starts("scout", "r-1", journal.WhyFirst, file("SPEC.md", 1, 10))
	v.children["r-1"] = table.Child{Status: recovery.StatusRunning, Driven: true, Took: time.Second, Cost: 10_000}
	v.want("scout running [1/2] r-1 1s $1", "plan"+notYet, "build"+notYet, "review"+notYet)
	v.ends("scout", "r-1", journal.PhaseDone, "", file("scout.md", 2, 4200))
	v.starts("plan", "r-2", journal.WhyFirst, file("scout.md", 2, 4200))
	v.ends("plan", "r-2", journal.PhaseDone, "", file("plan.md", 3, 6000))
	return v
}

// A phase is tried again, checked, and reviewed; the review says no, and a person is asked.
func TestTriesChecksAndVerdict(t *testing.T) {
	v := planned(t)
	scout, plan := "scout done [1] r-1 41s $2; scout.md 4200 22", "plan done [1] r-2 41s $2; plan.md 6000 33"
	v.starts("build", "r-3", journal.WhyFirst, file("plan.md", 3, 6000))
	v.ends("build", "r-3", journal.PhaseDone, "", file("claims.md", 4, 1100))
	v.want(scout, plan, "build checking [1/3] r-3 41s $2; claims.md 1100 44", "review"+notYet)
	v.fact(journal.FlowPhaseStarted{Phase: "build", Part: journal.PartCheck, Run: "r-3c", Why: journal.WhyFirst, Attempt: 1})
	v.want(scout, plan, "build checking [1/3] r-3c 41s $2; claims.md 1100 44", "review"+notYet)
	v.fact(journal.FlowPhaseEnded{Phase: "build", Part: journal.PartCheck, Run: "r-3c", Outcome: journal.PhaseFailed, Reason: "check `true` exit 1", Took: 2 * time.Second})
	v.want(scout, plan, "build failed [1/3] r-3 43s $2 (check `true` exit 1)", "review"+notYet)
	v.fact(journal.FlowPhaseStarted{Phase: "build", Part: journal.PartWork, Run: "r-4", Why: journal.WhyTry, Reason: "check `true` exit 1", In: []journal.Artifact{file("plan.md", 3, 6000)}})
	v.want(scout, plan, "build running [2/3] r-4 43s $2 (check `true` exit 1)", "review"+notYet)
	v.ends("build", "r-4", journal.PhaseDone, "", file("claims.md", 5, 1200))
	v.fact(journal.FlowPhaseStarted{Phase: "build", Part: journal.PartCheck, Run: "r-4c", Why: journal.WhyFirst},
		journal.FlowPhaseEnded{Phase: "build", Part: journal.PartCheck, Run: "r-4c", Outcome: journal.PhaseDone})
	build := "build done [2] r-4 1m24s $4; claims.md 1200 55"
	v.want(scout, plan, build, "review"+notYet)
	v.starts("review", "r-5", journal.WhyFirst, file("claims.md", 5, 1200))
	v.fact(journal.FlowPhaseEnded{Phase: "review", Part: journal.PartWork, Run: "r-5", Outcome: journal.PhaseDone, Failed: true, Reason: "without VERDICT: PASS", Out: []journal.Artifact{file("review.md", 6, 9)}})
	tab := v.want(scout, plan, build, "review done, says no [1] r-5 0s $0; review.md 9 66 (without VERDICT: PASS)")
	if p := tab.Phases[3].Passed; p == nil || *p {
		t.Errorf("review passed: %v", p)
	}
	v.asks(journal.AboutFailed, "review", nil)
	v.want(scout, plan, build, "review done, says no [1] r-5 0s $0; review.md 9 66 ?p-1 (without VERDICT: PASS)")
}

func (v *story) asks(about journal.PhaseAbout, phase string, item *journal.PhaseItem) {
	v.t.Helper()
	v.fact(journal.RequestOpened{Request: journal.Request{
		ID: "p-1", Phase: &journal.PhaseQuestion{About: about, Phase: phase, Item: item},
		Question: journal.Question{Kind: journal.RequestPhase, Message: "?", Schema: json.RawMessage(`{"type":"string"}`)},
	}})
}

// What a look found: put back, edited by a person with what was made of it, lost.
func TestArtifacts(t *testing.T) {
	v := planned(t)
	v.starts("build", "r-3", journal.WhyFirst, file("plan.md", 3, 6000))
	v.fact(journal.RunInterrupted{Cause: journal.CauseCrash})
	v.children["r-3"] = table.Child{Status: recovery.StatusInterrupted}
	v.want("scout done [1] r-1 41s $2; scout.md 4200 22", "plan done [1] r-2 41s $2; plan.md 6000 33", "build interrupted [1/3] r-3 0s $0", "review"+notYet)
	v.fact(journal.RunClaimed{Epoch: 2}, v.s.Cascade([]flow.Look{
		{Artifact: journal.Artifact{Path: "scout.md"}, State: journal.ArtifactMissing, Copied: true},
		{Artifact: file("plan.md", 7, 6100), State: journal.ArtifactEdited},
	}, ""))
	v.want("scout done [1] r-1 41s $2; scout.md 4200 22,missing", "plan done [1] r-2 41s $2; plan.md 6100 77,yours",
		"build running [1/3] r-3 0s $0 (it is made from plan.md 33333333, which was edited and is 77777777 now)", "review"+notYet)
	v.fact(journal.ArtifactRestored{Path: "scout.md", SHA: file("scout.md", 2, 0).SHA})
	tab := v.want("scout done [1] r-1 41s $2; scout.md 4200 22,put back", "plan done [1] r-2 41s $2; plan.md 6100 77,yours",
		"build running [1/3] r-3 0s $0 (it is made from plan.md 33333333, which was edited and is 77777777 now)", "review"+notYet)
	if a := tab.Of(table.Phase{}); len(a) != 1 || a[0].Path != "SPEC.md" || a[0].Phase != "" {
		t.Errorf("what was there: %+v", a)
	}
	v.ends("build", "r-3", journal.PhaseDone, "", file("claims.md", 4, 1100))
	v.fact(journal.FlowPhaseStarted{Phase: "build", Part: journal.PartCheck, Run: "r-3c", Why: journal.WhyFirst},
		journal.FlowPhaseEnded{Phase: "build", Part: journal.PartCheck, Run: "r-3c", Outcome: journal.PhaseDone})
	tab = table.New(v.s, nil)
	if p := tab.Phases[2]; p.Status != table.Stale || !strings.Contains(p.Reason, "it was made from plan.md 33333333") {
		t.Errorf("build is %s (%s)", p.Status, p.Reason)
	}
	v.fact(journal.PhaseRewound{Phases: []journal.Rewound{{Phase: "build", Why: journal.WhyPerson, Reason: "a person wants it done again"}}})
	if p := table.New(v.s, nil).Phases[2]; p.Status != table.ToRedo || p.Reason != "a person wants it done again" {
		t.Errorf("build is %s (%s)", p.Status, p.Reason)
	}
}

// A version that an answer takes back, and one that a look puts back, are told from a new one.
func TestPutBackEndsWithANewVersion(t *testing.T) {
	v := planned(t)
	v.fact(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: 2},
		v.s.Cascade([]flow.Look{{Artifact: journal.Artifact{Path: "plan.md"}, State: journal.ArtifactMissing, Copied: true}}, ""))
	v.fact(journal.ArtifactRestored{Path: "plan.md", SHA: file("", 3, 0).SHA})
	if a := table.New(v.s, nil).Of(table.Phase{Name: "plan"}); !a[0].PutBack {
		t.Errorf("not put back: %+v", a)
	}
	v.fact(journal.PhaseRewound{Phases: []journal.Rewound{{Phase: "plan", Why: journal.WhyPerson, Reason: "again"}}})
	v.starts("plan", "r-9", journal.WhyPerson, file("scout.md", 2, 4200))
	v.ends("plan", "r-9", journal.PhaseDone, "", file("plan.md", 8, 1))
	if a := table.New(v.s, nil).Of(table.Phase{Name: "plan"}); a[0].PutBack || a[0].Digest[0] != '8' {
		t.Errorf("made anew: %+v", a)
	}
}

// An edit that a person takes back is put back too.
func TestEditTakenBack(t *testing.T) {
	v := planned(t)
	v.starts("build", "r-3", journal.WhyFirst, file("plan.md", 3, 6000))
	v.fact(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: 2},
		v.s.Cascade([]flow.Look{{Artifact: file("plan.md", 7, 6100), State: journal.ArtifactEdited}}, ""))
	v.fact(journal.RequestOpened{Request: journal.Request{
		ID: "p-1", Phase: &journal.PhaseQuestion{About: journal.AboutRedo, Phase: "build", Versions: []journal.Artifact{{Path: "plan.md", SHA: file("", 7, 0).SHA}}},
		Question: journal.Question{Kind: journal.RequestPhase, Message: "?", Choices: []string{"redo", "restore"}, Schema: json.RawMessage(`{"type":"string"}`)},
	}}, journal.RequestAnswered{ID: "p-1", Answer: json.RawMessage(`"restore"`)}, journal.ArtifactRestored{Path: "plan.md", SHA: file("", 3, 0).SHA})
	if a := table.New(v.s, nil).Of(table.Phase{Name: "plan"}); !a[0].PutBack || a[0].Edited || a[0].Digest[0] != '3' {
		t.Errorf("taken back: %+v", a)
	}
}

// What waits: for the yes to a beginning, and a child for its own question. What was skipped,
// cancelled, or reused.
func TestWaitingSkippedReused(t *testing.T) {
	v := begin(t, feature())
	v.fact(journal.FlowPhaseEnded{Phase: "scout", Part: journal.PartWork, Outcome: journal.PhaseReused, Cost: 90_000, Took: time.Hour, Out: []journal.Artifact{file("scout.md", 2, 4200)}})
	v.asks(journal.AboutStart, "plan", nil)
	reused := "scout reused [1]  0s $0; scout.md 4200 22"
	v.want(reused, "plan waiting []  0s $0 ?p-1", "build"+notYet, "review"+notYet)
	v.fact(journal.RequestAnswered{ID: "p-1", Answer: json.RawMessage(`"yes"`)})
	v.starts("plan", "r-2", journal.WhyFirst, file("scout.md", 2, 4200))
	v.fact(journal.RunParked{Children: []string{"r-2"}})
	v.children["r-2"] = table.Child{Status: recovery.StatusWaiting, Request: "p-2"}
	v.want(reused, "plan waiting [1/2] r-2 0s $0 ?p-2", "build"+notYet, "review"+notYet)
	v.fact(journal.RunClaimed{Epoch: 2})
	v.ends("plan", "r-2", journal.PhaseCancelled, "by a person")
	v.want(reused, "plan cancelled [1] r-2 41s $2 (by a person)", "build"+notYet, "review"+notYet)

	d := feature()
	d.Phases[0].SkipIf = &flow.Command{Run: "test -f scout.md"}
	v = begin(t, d)
	v.fact(journal.FlowPhaseStarted{Phase: "scout", Part: journal.PartSkipIf, Run: "r-s", Why: journal.WhyFirst})
	v.want("scout running []"+" r-s 0s $0", "plan"+notYet, "build"+notYet, "review"+notYet)
	v.fact(journal.FlowPhaseEnded{Phase: "scout", Part: journal.PartSkipIf, Run: "r-s", Outcome: journal.PhaseSkipped, Reason: "`test -f scout.md` exited 0"})
	v.want("scout skipped []  0s $0 (`test -f scout.md` exited 0)", "plan"+notYet, "build"+notYet, "review"+notYet)
}

// audit reads a list, has a branch for each item, and merges.
func audit() *flow.Definition {
	return &flow.Definition{Name: "audit.md", Parallel: 6, OnFail: flow.FailContinue, Phases: []flow.Phase{
		{Name: "read", Tries: 2, OnFail: flow.FailContinue, Mode: journal.ModePlan, Each: "list.json", Inputs: []flow.Input{{Path: "list.json"}}, Outputs: []flow.Output{{Path: "audit/{name}.md"}}},
		{Name: "merge", Tries: 2, OnFail: flow.FailStop, After: []string{"read"}, Inputs: []flow.Input{{Phase: "read"}}, Outputs: []flow.Output{{Path: "REPORT.md"}}},
	}}
}

func TestBranches(t *testing.T) {
	v := begin(t, audit())
	v.want("read"+notYet, "merge"+notYet)
	items := []journal.PhaseItem{{Name: "a", Digest: "1"}, {Name: "b", Digest: "2"}, {Name: "c", Digest: "3"}}
	v.fact(journal.FlowPhaseEnded{Phase: "read", Part: journal.PartList, Outcome: journal.PhaseDone, In: []journal.Artifact{file("list.json", 1, 3)}, Items: items})
	for i, run := range []string{"r-a", "r-b"} {
		v.fact(journal.FlowPhaseStarted{Phase: "read", Item: &items[i], Part: journal.PartWork, Run: run, Why: journal.WhyFirst})
	}
	v.fact(journal.FlowPhaseEnded{Phase: "read", Item: &items[0], Part: journal.PartWork, Run: "r-a", Outcome: journal.PhaseDone, Cost: 10_000, Out: []journal.Artifact{file("audit/a.md", 5, 7)}})
	v.children["r-b"] = table.Child{Status: recovery.StatusWaiting, Driven: true, Request: "p-7", Cost: 30_000}
	tab := v.want("read waiting []  0s $4 ?p-7", "read[a] done [1] r-a 0s $1; audit/a.md 7 55", "read[b] waiting [1/2] r-b 0s $3 ?p-7", "read[c]"+notYet, "merge"+notYet)
	if c := tab.Phases[0].Counts; c[table.Done] != 1 || c[table.Waiting] != 1 || c[table.NotYet] != 1 {
		t.Errorf("counts %v", c)
	}
	if open := table.Open(v.s); len(open) != 1 || open[0] != "r-b" {
		t.Errorf("under way: %v", open)
	}
	v.fact(journal.FlowPhaseEnded{Phase: "read", Item: &items[1], Part: journal.PartWork, Run: "r-b", Outcome: journal.PhaseFailed, Reason: "no output"})
	if s := table.New(v.s, nil).Phases[0].Status; s != table.Failed {
		t.Errorf("with a branch that failed it is %s", s)
	}
}

// A list that cannot be read is why the phase has no branch.
func TestListThatFails(t *testing.T) {
	v := begin(t, audit())
	v.fact(journal.FlowPhaseEnded{Phase: "read", Part: journal.PartList, Outcome: journal.PhaseFailed, Reason: "it is not there", In: []journal.Artifact{{Path: "list.json"}}})
	v.asks(journal.AboutFailed, "read", nil)
	v.want("read failed []  0s $0 ?p-1 (it is not there)", "merge"+notYet)
}

// The names in JSON are a promise, and a program finds lists where there is nothing.
// CF-16.
func TestJSON(t *testing.T) {
	v := planned(t)
	text, err := json.Marshal(table.New(v.s, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"phases":[{"name":"scout","status":"done","num_attempts":1,"try":1,"tries":2,"run_id":"r-1","duration_ms":41000,"tokens":1000,"cost_usd":0.02,"outputs":["scout.md"]}`,
		`{"name":"build","status":"not yet","num_attempts":0,"try":0,"tries":3,"duration_ms":0,"tokens":0,"cost_usd":null,"outputs":[]}`,
		`{"path":"plan.md","phase":"plan","digest":"3333333333333333333333333333333333333333333333333333333333333333","bytes":6000,"state":"intact","copied":true}`,
		`{"path":"SPEC.md","digest":"1111111111111111111111111111111111111111111111111111111111111111","bytes":10,"state":"intact","copied":true}]}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks\n%s", text, want)
		}
	}
}
