package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/host/drive"
	"agent/host/flow/artifact"
	"agent/host/words"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Redo is what a person decides who wants a phase done again.
func (f *carrying) Redo(phase string) (journal.Body, error) {
	fact, err := f.s.Redo(phase)
	return fact, err
}

// Plan is how the flow stands: what its record says, and how what counts compares with it. What it
// looks at is not looked at once more when the flow goes on, but where it is dry.
func (f *carrying) Plan(ctx context.Context, p *drive.Process, dry bool) (plan drive.FlowPlan, then string, err error) {
	plan.Name = f.def.Name
	for _, d := range f.def.Phases {
		all := f.s.Instances(d.Name)
		if d.Each != "" && len(all) == 0 {
			plan.Phases = append(plan.Phases, drive.PlanPhase{Name: d.Name, Status: string(flow.StatusNew)})
		}
		for _, x := range all {
			line := drive.PlanPhase{Name: x.Name(), Status: string(x.Status)}
			if x.Open != nil {
				line.Status, line.Run = "under way", x.Open.Run
			}
			plan.Phases = append(plan.Phases, line)
		}
	}
	if err := f.open(p); err != nil {
		return plan, "", err
	}
	if dry {
		f.copies = &artifact.Copies{Contents: f.copies.Contents, Looks: true}
	}
	w, err := f.world(ctx, p)
	if err != nil {
		return plan, "", err
	}
	fact, err := f.lookAtAll(ctx, p, f.s.Subjects(w))
	if err != nil {
		return plan, "", err
	}
	plan.Artifacts = whenDone(f.s, fact.Artifacts)
	if !dry {
		f.looked = &fact
		return plan, "", nil
	}
	then, plan.Redone, err = f.then(ctx, p, fact)
	return plan, then, err
}

// whenDone says of what is not as recorded that nothing is done about it yet, where a question
// stands.
func whenDone(s *flow.State, all []journal.ArtifactCheck) []journal.ArtifactCheck {
	all = slices.Clone(all)
	for i := range all {
		if s.Run.Open != nil && all[i].State != journal.ArtifactIntact {
			all[i].Reason += "; the question comes first"
		}
	}
	return all
}

// then folds what would be recorded, and says what would come next that acts.
func (f *carrying) then(ctx context.Context, p *drive.Process, looked journal.ArtifactsChecked) (then string, redone []journal.Rewound, err error) {
	for range 100 {
		w, err := f.world(ctx, p)
		if err != nil {
			return "", nil, err
		}
		var facts []journal.Body
		switch a := flow.Next(f.s, w).(type) {
		case flow.Check:
			facts = []journal.Body{looked}
		case flow.Restore:
			for _, r := range a.Files {
				facts = append(facts, journal.ArtifactRestored{Path: r.Artifact.Path, SHA: r.Artifact.SHA, Replaced: r.Over})
			}
		case flow.Record:
			if ask, ok := a.Facts[0].(journal.RequestOpened); ok {
				return "ask: " + words.Brief(ask.Request.Message, 200), redone, nil
			}
			if left, ok := a.Facts[0].(journal.RunInterrupted); ok {
				return "nothing: " + left.Detail, redone, nil
			}
			if r, ok := a.Facts[0].(journal.PhaseRewound); ok {
				redone = append(redone, r.Phases...)
			}
			facts = a.Facts
		default:
			return inWords(f.s, a), redone, nil
		}
		for _, b := range facts {
			if err := f.s.Apply(journal.Event{Seq: f.s.Run.Seq + 1, Body: b}); err != nil {
				return "", redone, err
			}
		}
	}
	return "go on", redone, nil
}

// inWords says what an action does.
func inWords(s *flow.State, action flow.Action) string {
	names := func(runs []string) string {
		var out []string
		for _, run := range runs {
			out = append(out, fmt.Sprintf("%s (run %s)", s.Of(run).Name(), run))
		}
		return strings.Join(out, ", ")
	}
	switch a := action.(type) {
	case flow.AskPerson:
		return fmt.Sprintf("wait for an answer to %s: %s", a.Request.ID, words.Brief(a.Request.Message, 200))
	case flow.Start:
		var out []string
		for _, p := range a.Parts {
			out = append(out, p.Role())
		}
		return "begin " + strings.Join(out, ", ")
	case flow.Await:
		return "go on with " + names(a.Runs)
	case flow.Collect:
		return "take what was made by " + names(a.Runs)
	case flow.EndChildren:
		return "end " + names(a.Runs) + ": " + a.Reason
	case flow.Park:
		return "wait for people: " + names(a.Runs)
	case flow.List:
		return fmt.Sprintf("read the list %s of %s", a.Artifact.Path, a.Phase.Name)
	case flow.Complete:
		return "end: all phases are done, and the recorded answer is printed"
	}
	return fmt.Sprintf("nothing: the run is %s", s.Run.Status)
}
