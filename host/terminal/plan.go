package terminal

import (
	"fmt"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// Plan prints what a resume would do, in the order in which the resume prints it: what is noted is
// recorded, and so shown, before anything else.
func (t *Printer) Plan(p view.Plan) {
	for _, n := range p.Notes {
		t.Line(Yellow, "!", n)
	}
	t.planHead(p)
	t.planSteps(p)
	t.planFlow(p)
	t.Line(Bold, "then:", p.Then)
}

// Planned prints what is replayed before a run goes on.
func (t *Printer) Planned(p view.Plan) {
	t.planned = p.RunID
	t.planHead(p)
	t.planSteps(p)
	t.planFlow(p)
}

// planFlow prints what the record of a flow claims, and what is not as recorded.
func (t *Printer) planFlow(p view.Plan) {
	if p.Flow == "" {
		return
	}
	by := map[string][]string{}
	var order []string
	for _, l := range p.Phases {
		if by[l.Status] == nil {
			order = append(order, l.Status)
		}
		name := l.Phase
		if l.RunID != "" {
			name += " (run " + l.RunID + ")"
		}
		by[l.Status] = append(by[l.Status], name)
	}
	for _, status := range order {
		t.Line(Dim, " ", fmt.Sprintf("%s: %s", status, strings.Join(by[status], ", ")))
	}
	same := 0
	for _, a := range p.Artifacts {
		if a.State == journal.ArtifactIntact {
			same++
			continue
		}
		t.Line(Yellow, "!", fmt.Sprintf("%s  %s", a.Path, a.Reason))
	}
	if same > 0 {
		t.Line(Dim, " ", fmt.Sprintf("as recorded: %s", view.Count(same, "artifact")))
	}
	for _, r := range p.Redone {
		t.Line(Yellow, "~", fmt.Sprintf("%s is done again: %s", r.Phase, r.Reason))
	}
}

func (t *Printer) planHead(p view.Plan) {
	if len(p.Steps) == 0 && p.Checkpoint == "" && strings.HasPrefix(p.Then, "nothing: ") {
		t.Line(Bold, "resume", p.Then)
		return
	}
	if p.Flow != "" {
		t.Line(Bold, "resume", fmt.Sprintf("flow %s, %s", p.RunID, p.Flow))
		return
	}
	from := "its beginning"
	if p.Checkpoint != "" {
		from = "checkpoint " + p.Checkpoint
	}
	verb := "are"
	if p.Replayed == 1 {
		verb = "is"
	}
	t.Line(Bold, "resume", fmt.Sprintf("run %s from %s: %s %s replayed from the record, not executed",
		p.RunID, from, view.Count(p.Replayed, "finished call"), verb))
	if p.Prompt != "" {
		t.Line(Dim, " ", "prompt: "+view.PromptStart(p.Prompt))
	}
}

func (t *Printer) planSteps(p view.Plan) {
	for _, step := range p.Steps {
		t.Line(Yellow, "~", view.VerdictLine(journal.Place{Turn: step.Turn, Index: step.Index}, step.Tool+": "+step.Summary, step.Verdict, step.Reason))
	}
}
