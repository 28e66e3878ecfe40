package flow

import (
	"agent/recovery/journal"
	"slices"
	"strings"
	"testing"
)

// What cannot be read is not missing: the flow is left, and nothing begins (section 6). What cannot
// be an artifact is named with the reason.
func TestUnreadableSource(t *testing.T) {
	v := begin(t, feature())
	part := Next(v.s, v.w).(Start).Parts[0]
	unread := Look{Artifact: journal.Artifact{Path: "SPEC.md"}, State: journal.ArtifactUnreadable, Detail: "permission denied"}
	left, ok := v.s.Begin(part, []Look{unread}, nil, "r-1").(journal.RunInterrupted)
	if !ok || left.Cause != journal.CauseArtifact || !strings.Contains(left.Detail, "SPEC.md cannot be read: permission denied") {
		t.Errorf("a source that cannot be read: %+v", left)
	}
	link := Look{Artifact: journal.Artifact{Path: "SPEC.md"}, State: journal.ArtifactEdited, Invalid: "it is a symlink"}
	end, ok := v.s.Begin(part, []Look{link}, nil, "r-1").(journal.FlowPhaseEnded)
	if !ok || end.Reason != "plan needs SPEC.md, which cannot be used: it is a symlink" {
		t.Errorf("a source that is a symlink: %+v", end)
	}
}

// A yes to the beginning of a phase is to what it would be made from: what phases made since is
// asked about again (section 13, row 7).
func TestYesIsToWhatWasShown(t *testing.T) {
	v := begin(t, feature())
	v.s.phases["build"].def.Ask = "Build?"
	v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
	v.answers("yes")
	v.is("start build#1 first")
	v.found(edited("plan.md", "p2"))
	v.is("ask start yes|no")
	v.answers("yes")
	v.is("start build#1 first")

	d := feature()
	d.Phases[0].Outputs = append(d.Phases[0].Outputs, Output{Path: "more.md"})
	d.Phases[1].Inputs, d.Phases[1].Ask = []Input{{Phase: "plan"}}, "Build?"
	v = begin(t, d)
	v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
	v.answers("yes")
	v.is("start build#1 first")
	v.s.set("plan", version{Artifact: artifact("more.md", "m1"), maker: v.s.Instances("plan")[0]})
	v.is("ask start yes|no")
}

// What a phase took away itself is not missed where nobody needs it any more, and is put back for
// one that does (promises 4 and 5).
func TestTakenAway(t *testing.T) {
	for _, c := range []struct {
		needed bool
		want   string
	}{{false, "claims.md SPEC.md"}, {true, "plan.md claims.md SPEC.md"}} {
		d := feature()
		if !c.needed {
			d.Phases[2].Inputs = d.Phases[2].Inputs[1:]
		}
		v := begin(t, d)
		v.does("plan", true, []journal.Artifact{artifact("SPEC.md", "s1")}, []journal.Artifact{artifact("plan.md", "p1")})
		v.starts("build", []journal.Artifact{artifact("plan.md", "p1")})
		v.fact(journal.FlowPhaseEnded{Phase: "build", Part: journal.PartWork, Run: v.s.Instances("build")[0].Open.Run, Digest: "d", Outcome: journal.PhaseDone,
			In: []journal.Artifact{{Path: "plan.md"}}, Out: []journal.Artifact{artifact("claims.md", "c1")}, Quiet: true})
		var names []string
		for _, a := range v.s.Subjects(World{}) {
			names = append(names, a.Path)
		}
		got, want := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(strings.Fields(c.want)))
		if !slices.Equal(got, want) {
			t.Errorf("needed %v: looked at %v, want %v", c.needed, got, want)
		}
	}
}

// How many branches are at work at once: what the phase says; else what the flow says where they
// only read; else one (promise 22 of flows).
func TestBranchesAtOnce(t *testing.T) {
	for _, c := range []struct {
		flow, phase int
		mode        journal.Mode
		want        int
	}{{4, 0, journal.ModePlan, 4}, {4, 2, journal.ModePlan, 2}, {4, 0, journal.ModeAuto, 1}, {4, 8, journal.ModeAuto, 8}, {0, 0, journal.ModePlan, 1}} {
		d := &Definition{Parallel: c.flow}
		if got := d.Branches(&Phase{Each: "items.json", Parallel: c.phase}, c.mode); got != c.want {
			t.Errorf("%+v: %d at once", c, got)
		}
	}
}

// A cancel that is on record, and whose process was killed before the end, is carried out by the
// next one although a question of the flow is still open: that is closed before what is under way
// is brought home (promise 25).
func TestStopBehindAQuestion(t *testing.T) {
	v := begin(t, feature())
	v.starts("plan", []journal.Artifact{artifact("SPEC.md", "s1")})
	run := v.s.Instances("plan")[0].Open.Run
	v.w.Children[run] = Child{State: ChildWaiting}
	v.fact(journal.RequestOpened{Request: journal.Request{
		ID: "p-1", Question: journal.Question{Kind: journal.RequestPhase}, Phase: &journal.PhaseQuestion{About: journal.AboutStart, Phase: "build"},
	}})
	v.fact(journal.RunStopping{Why: journal.StopCancelled, Reason: "cancelled"}, journal.RunClaimed{Epoch: 2})
	v.is("request.closed")
	v.fact(Next(v.s, v.w).(Record).Facts...)
	v.is("end " + run)
	v.w.Children[run] = Child{State: ChildEnded}
	v.is("collect " + run)
	v.fact(journal.FlowPhaseEnded{Phase: "plan", Part: journal.PartWork, Run: run, Outcome: journal.PhaseCancelled})
	v.is("run.cancelled")
}
