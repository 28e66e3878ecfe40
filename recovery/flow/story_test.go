package flow

import (
	"agent/recovery"
	"agent/recovery/journal"
	"fmt"
	"strings"
	"testing"
)

// tale is a flow that goes on fact by fact.
type tale struct {
	t *testing.T
	s *State
	n int64
	w World
}

// feature is plan > build > review, where review goes back to build.
func feature() *Definition {
	phase := func(name string, p Phase) Phase {
		p.Name = name
		if p.Tries == 0 {
			p.Tries = 2
		}
		if p.OnFail == "" {
			p.OnFail = FailStop
		}
		if p.Redo == "" {
			p.Redo = RedoAsk
		}
		return p
	}
	return &Definition{Name: "feature.md", Parallel: 4, OnFail: FailStop, Phases: []Phase{
		phase("plan", Phase{Mode: journal.ModePlan, Inputs: []Input{{Path: "SPEC.md"}}, Outputs: []Output{{Path: "plan.md"}}}),
		phase("build", Phase{After: []string{"plan"}, Inputs: []Input{{Path: "plan.md"}}, Outputs: []Output{{Path: "claims.md"}}}),
		phase("review", Phase{After: []string{"build"}, Mode: journal.ModePlan, Inputs: []Input{{Path: "plan.md"}, {Path: "claims.md"}},
			Outputs: []Output{{Path: "review.md"}}, OnFail: FailBack, Back: "build", Rounds: 1}),
	}}
}

func begin(t *testing.T, d *Definition) *tale {
	t.Helper()
	s, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	v := &tale{t: t, s: s, w: World{Children: map[string]Child{}}}
	v.fact(journal.RunCreated{Run: "r-flow", Mode: journal.ModeAuto}, journal.RunClaimed{Epoch: 1}, journal.ArtifactsChecked{Epoch: 1})
	return v
}

func (v *tale) fact(bodies ...journal.Body) {
	v.t.Helper()
	for _, b := range bodies {
		v.n++
		if err := v.s.Apply(journal.Event{Seq: v.n, Body: b}); err != nil {
			v.t.Fatal(err)
		}
	}
}

func artifact(path, sha string) journal.Artifact {
	return journal.Artifact{Path: path, SHA: sha, Copy: "k-" + sha}
}

// does carries a phase out from its inputs: it starts, and ends with its outputs.
func (v *tale) does(phase string, quiet bool, in, out []journal.Artifact) {
	v.t.Helper()
	v.starts(phase, in)
	run := v.s.Instances(phase)[0].Open.Run
	v.fact(journal.FlowPhaseEnded{Phase: phase, Part: journal.PartWork, Run: run, Outcome: journal.PhaseDone, In: in, Out: out, Quiet: quiet,
		Did: []journal.PhaseCall{{Tool: "shell", Text: "git push", Outcome: journal.OutcomeOK}}[:map[bool]int{true: 0, false: 1}[quiet]]})
}

func (v *tale) starts(phase string, in []journal.Artifact) {
	v.t.Helper()
	mode := v.s.mode(v.s.Instances(phase)[0])
	v.fact(journal.FlowPhaseStarted{Phase: phase, Part: journal.PartWork, Run: fmt.Sprintf("%s-%d", phase, v.n), Mode: mode, Why: journal.WhyFirst, In: in})
}

// found is a claim after a crash, with a look at what is named; the rest is intact.
func (v *tale) found(looks ...Look) {
	v.t.Helper()
	v.fact(journal.RunClaimed{Epoch: v.s.Run.Epoch + 1})
	if next := v.next(); !strings.HasPrefix(next, "check") {
		v.t.Fatalf("after a claim: %s", next)
	}
	v.fact(v.s.Cascade(looks, ""))
}

func (v *tale) answers(text string) {
	v.t.Helper()
	record, ok := Next(v.s, v.w).(Record)
	if !ok {
		v.t.Fatalf("nobody is asked: %s", v.next())
	}
	opened := record.Facts[0].(journal.RequestOpened)
	opened.Request.ID = "p-1"
	v.fact(opened, journal.RequestAnswered{ID: "p-1", Answer: fmt.Appendf(nil, "%q", text)})
}

// next is what is to be done, in a few words.
func (v *tale) next() string {
	switch a := Next(v.s, v.w).(type) {
	case Check:
		return "check"
	case Restore:
		return "put back " + a.Files[0].Artifact.Path
	case Start:
		var names []string
		for _, p := range a.Parts {
			names = append(names, fmt.Sprintf("%s %s", p.Role(), p.Why))
		}
		return "start " + strings.Join(names, ", ")
	case Await:
		return "await " + strings.Join(a.Runs, ", ")
	case Collect:
		return "collect " + strings.Join(a.Runs, ", ")
	case EndChildren:
		return "end " + strings.Join(a.Runs, ", ")
	case Park:
		return "park"
	case Complete:
		return "complete"
	case Record:
		switch b := a.Facts[0].(type) {
		case journal.RequestOpened:
			return fmt.Sprintf("ask %s %s", b.Request.Phase.About, strings.Join(b.Request.Choices, "|"))
		case journal.PhaseRewound:
			var names []string
			for _, r := range b.Phases {
				names = append(names, fmt.Sprintf("%s %s", r.Phase, r.Why))
			}
			return "rewind " + strings.Join(names, ", ")
		default:
			return string(b.Kind())
		}
	default:
		return fmt.Sprintf("%T", a)
	}
}

func (v *tale) is(want string) {
	v.t.Helper()
	if got := v.next(); got != want {
		v.t.Errorf("next: %s; want %s", got, want)
	}
}

func (v *tale) rewinds() {
	v.t.Helper()
	v.fact(Next(v.s, v.w).(Record).Facts...)
}

// built is a flow whose plan and build are done; build pushed.
func built(t *testing.T, change func(*Definition)) *tale {
	t.Helper()
	d := feature()
	if change != nil {
		change(d)
	}
	v := begin(t, d)
	v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
	v.does("build", false, []journal.Artifact{artifact("plan.md", "p1")}, []journal.Artifact{artifact("claims.md", "c1")})
	return v
}

func lost(path string, copied bool) Look {
	return Look{Artifact: journal.Artifact{Path: path}, State: journal.ArtifactMissing, Copied: copied}
}

func edited(path, sha string) Look {
	return Look{Artifact: artifact(path, sha), State: journal.ArtifactEdited, Copied: true}
}

// What resume does with what it finds: a row each.
// CF-05 to CF-09, CF-27.
func TestWhatResumeDoes(t *testing.T) {
	redo := func(v *tale) {
		v.answers("redo")
		v.is("rewind build person")
		v.rewinds()
		v.is("start build#2 person")
	}
	for _, c := range []struct {
		name   string
		change func(*Definition)
		look   []Look
		want   string
		then   func(*tale)
	}{
		{"all is intact: done phases are not run again", nil, nil, "start review#1 first", nil},
		{"missing, with a copy: put back", nil, []Look{lost("plan.md", true)}, "put back plan.md", func(v *tale) {
			v.fact(journal.ArtifactRestored{Path: "plan.md", SHA: "p1"})
			v.is("start review#1 first")
			v.found(lost("plan.md", true)) // somebody means it
			v.is("ask gone restore|redo|stop")
			v.answers("restore")
			v.is("put back plan.md")
		}},
		{"missing, without a copy, of a phase that only read: made anew; what was made from it is decided then", nil, []Look{lost("plan.md", false)}, "rewind plan redo", func(v *tale) {
			v.rewinds()
			v.is("start plan#2 redo")
			v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
			v.is("start review#1 first") // equal bytes: build stands
		}},
		{"made anew with other bytes: what acted on the old ones is asked about", nil, []Look{lost("plan.md", false)}, "rewind plan redo", func(v *tale) {
			v.rewinds()
			v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p2")})
			v.is("ask redo redo|keep|stop")
			redo(v)
		}},
		{"lost, without a copy, of a phase that acted: asked", nil, []Look{lost("claims.md", false)}, "ask gone redo|again|stop", redo},
		{"the same, and its author says that it is safe", func(d *Definition) { d.Phases[1].Redo = RedoSafe }, []Look{lost("claims.md", false)}, "rewind build redo", nil},
		{"the same, and its author says never", func(d *Definition) { d.Phases[1].Redo = RedoNever }, []Look{lost("claims.md", false)}, "ask gone again|stop", nil},
		{"a source is gone and has no copy: nobody makes it", nil, []Look{lost("SPEC.md", false)}, "ask gone again|stop", func(v *tale) { v.answers("again"); v.is("check") }},
		{"edited after something was made of it: asked", nil, []Look{edited("plan.md", "p2")}, "ask redo redo|keep|restore|stop", redo},
		{"edited, and a person says that what was made stands", nil, []Look{edited("plan.md", "p2")}, "ask redo redo|keep|restore|stop", func(v *tale) {
			v.answers("keep")
			v.is("start review#1 first")
			v.found(edited("plan.md", "p3")) // said of another version
			v.is("ask redo redo|keep|restore|stop")
		}},
		{"edited, and taken back", nil, []Look{edited("plan.md", "p2")}, "ask redo redo|keep|restore|stop", func(v *tale) {
			v.answers("restore")
			v.is("put back plan.md")
			v.fact(journal.ArtifactRestored{Path: "plan.md", SHA: "p1", Replaced: "p2"})
			v.is("start review#1 first")
		}},
		{"edited, and nothing was made from it: it counts", nil, []Look{edited("claims.md", "c2")}, "start review#1 first", nil},
		{"edited, and not valid any more", nil, []Look{{Artifact: artifact("plan.md", "p2"), State: journal.ArtifactEdited, Copied: true, Invalid: "it has no Steps"}}, "ask invalid restore|redo|again|stop", nil},
		{"unreadable: nothing runs", nil, []Look{{Artifact: journal.Artifact{Path: "plan.md"}, State: journal.ArtifactUnreadable, Detail: "permission denied"}}, "run.interrupted", nil},
		{"a person stops", nil, []Look{lost("claims.md", false)}, "ask gone redo|again|stop", func(v *tale) { v.answers("stop"); v.is("run.cancelled") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := built(t, c.change)
			v.found(c.look...)
			v.is(c.want)
			if c.then != nil && !t.Failed() {
				v.t = t
				c.then(v)
			}
		})
	}
}

// A decision is bound to the versions that its question named: where others count by the time it
// is used, it is asked again.
func TestDecisionIsBoundToVersions(t *testing.T) {
	v := built(t, nil)
	v.found(edited("plan.md", "p2"))
	v.answers("redo")
	v.found(edited("plan.md", "p3"))
	v.is("ask redo redo|keep|restore|stop")
}

// After an edit nothing is done again without a question, also by a phase that only read: what a
// person wrote is no reason by itself.
func TestEditAsks(t *testing.T) {
	v := begin(t, feature())
	v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
	v.found(edited("SPEC.md", "s2"))
	v.is("ask redo redo|keep|restore|stop")
}

// A child that was at work when its host died.
func TestPhaseInFlight(t *testing.T) {
	flying := func(t *testing.T, state ChildState, looks ...Look) *tale {
		v := begin(t, feature())
		v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
		v.starts("build", []journal.Artifact{artifact("plan.md", "p1")})
		v.w.Children[v.s.Instances("build")[0].Open.Run] = Child{State: state}
		v.found(looks...)
		return v
	}
	run := func(v *tale) string { return v.s.Instances("build")[0].Open.Run }
	v := flying(t, ChildIdle)
	v.is("await " + run(v)) // goes on inside
	v = flying(t, ChildEnded)
	v.is("collect " + run(v))
	v = flying(t, ChildWaiting)
	v.is("park")
	v = flying(t, ChildIdle, edited("plan.md", "p2"))
	v.is("ask redo redo|keep|restore|stop")
	v.answers("redo")
	v.is("rewind build person") // durable before it is ended
	v.rewinds()
	v.is("end " + run(v))
	v = flying(t, ChildIdle, lost("plan.md", false))
	v.rewinds()
	v.is("start plan#2 redo") // and build is not driven before that is settled
	v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
	v.is("await " + run(v))                             // equal again: in place
	v = flying(t, ChildAbsent, edited("plan.md", "p2")) // killed before the child's row
	v.is("rewind build first")                          // nothing was made of it: nobody is asked
	v = flying(t, ChildAbsent)
	v.is("await " + run(v)) // created under the recorded id
}

// The reviewer's no goes back as often as the file says, and is no reason to try it again.
func TestRounds(t *testing.T) {
	v := built(t, nil)
	no := func() {
		in := []journal.Artifact{artifact("plan.md", "p1"), artifact("claims.md", "c1")}
		v.starts("review", in)
		v.fact(journal.FlowPhaseEnded{Phase: "review", Part: journal.PartWork, Run: v.s.Instances("review")[0].Open.Run, Outcome: journal.PhaseDone,
			Out: []journal.Artifact{artifact("review.md", "r1")}, In: in, Failed: true, Reason: "VERDICT: FAIL", Quiet: true})
	}
	no()
	v.is("rewind build round, review round") // the file's word: nobody is asked
	v.rewinds()
	v.is("start build#2 round")
	v.does("build", false, []journal.Artifact{artifact("plan.md", "p1")}, []journal.Artifact{artifact("claims.md", "c1")})
	v.is("start review#2 round") // although claims.md is the same
	no()
	v.is("run.failed")
}

// Tries are bounded, and then the file says what follows.
func TestTries(t *testing.T) {
	for onFail, want := range map[OnFail]string{FailStop: "run.failed", FailAsk: "ask failed retry|continue|stop", FailContinue: "start build#1 first"} {
		d := feature()
		d.Phases[0].OnFail, d.Phases[1].Inputs = onFail, nil
		v := begin(t, d)
		for n := 1; n <= 2; n++ {
			v.is(fmt.Sprintf("start plan#%d %s", n, map[int]string{1: "first", 2: "try"}[n]))
			v.fact(journal.FlowPhaseStarted{Phase: "plan", Attempt: n, Part: journal.PartWork, Run: fmt.Sprint("r-", n), Why: map[int]journal.PhaseWhy{1: journal.WhyFirst, 2: journal.WhyTry}[n], In: []journal.Artifact{artifact("SPEC.md", "s1")}})
			v.fact(journal.FlowPhaseEnded{Phase: "plan", Part: journal.PartWork, Run: fmt.Sprint("r-", n), Outcome: journal.PhaseFailed, Reason: "no plan.md", Quiet: true})
		}
		v.is(want)
	}
}

// A skipped phase's missing output fails what needs it by name, before it begins.
func TestMissingInputFailsByName(t *testing.T) {
	v := begin(t, feature())
	start := Next(v.s, v.w).(Start)
	end, ok := v.s.Begin(start.Parts[0], []Look{lost("SPEC.md", false)}, nil, "r-1").(journal.FlowPhaseEnded)
	if !ok || end.Outcome != journal.PhaseFailed || !strings.Contains(end.Reason, "plan needs SPEC.md") {
		t.Errorf("%+v", end)
	}
	v.fact(end)
	v.is("run.failed") // no try can help
}

// The host itself does a phase again twice in a run; then it asks.
// Promise 8 of flows.
func TestHostRedoesTwice(t *testing.T) {
	v := begin(t, feature())
	in, out := []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")}
	v.does("plan", true, in, out)
	for n := 2; n <= 3; n++ {
		v.found(lost("plan.md", false))
		v.rewinds()
		v.is(fmt.Sprintf("start plan#%d redo", n))
		run := fmt.Sprint("r-", n)
		v.fact(journal.FlowPhaseStarted{Phase: "plan", Attempt: n, Part: journal.PartWork, Run: run, Mode: journal.ModePlan, Why: journal.WhyRedo, In: in})
		v.fact(journal.FlowPhaseEnded{Phase: "plan", Attempt: n, Part: journal.PartWork, Run: run, Outcome: journal.PhaseDone, In: in, Out: out, Quiet: true})
	}
	v.found(lost("plan.md", false))
	v.is("ask gone redo|again|stop")
}

// The author's question, its words, and what a stop does.
func TestAskBeforeStart(t *testing.T) {
	asked := func() *tale {
		d := feature()
		d.Phases[1].Ask = "Build this plan?"
		v := begin(t, d)
		v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
		v.is("ask start yes|no")
		return v
	}
	v := asked()
	v.answers("yes")
	v.is("start build#1 first")
	v = asked()
	v.answers("no")
	v.is("run.cancelled")
	v = asked()
	v.answers("keep the old header row")
	v.is("rewind plan person")
	v.rewinds()
	if p := Next(v.s, v.w).(Start).Parts[0]; p.Text != "keep the old header row" || p.Instance.Name() != "plan" {
		t.Errorf("%+v", p)
	}
}

// Cancelled: children first, then the flow; and it cannot end before.
// Promise 25 of flows.
func TestStopEndsChildrenFirst(t *testing.T) {
	v := begin(t, feature())
	v.starts("plan", []journal.Artifact{artifact("SPEC.md", "s1")})
	run := v.s.Instances("plan")[0].Open.Run
	v.w.Children[run] = Child{State: ChildRunning}
	v.fact(journal.RunStopping{Why: journal.StopCancelled, Reason: "cancelled"})
	v.is("end " + run)
	v.w.Children[run] = Child{State: ChildEnded}
	v.is("collect " + run)
	if err := v.s.Apply(journal.Event{Seq: v.n + 1, Body: journal.RunCancelled{}}); err == nil {
		t.Error("a flow ended while a phase was open")
	}
	v.fact(journal.FlowPhaseEnded{Phase: "plan", Part: journal.PartWork, Run: run, Outcome: journal.PhaseCancelled})
	v.is("run.cancelled")
	v.fact(Next(v.s, v.w).(Record).Facts...)
	if v.s.Run.Status != recovery.StatusCancelled {
		t.Error(v.s.Run.Status)
	}
}

// What a person names is done again, with what acted, and never what its author forbids.
func TestRedoByName(t *testing.T) {
	v := built(t, func(d *Definition) { d.Phases[0].Redo = RedoNever })
	if _, err := v.s.Redo("plan"); err == nil {
		t.Error("plan is done again, although its file says never")
	}
	if _, err := v.s.Redo("review"); err == nil {
		t.Error("review is done again before it began")
	}
	r, err := v.s.Redo("build")
	if err != nil {
		t.Fatal(err)
	}
	v.fact(r)
	v.is("start build#2 person")
	if p := Next(v.s, v.w).(Start).Parts[0]; p.Continues == "" {
		t.Error("a phase that acted begins with a clean conversation")
	}
}
