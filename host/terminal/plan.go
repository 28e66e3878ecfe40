package terminal

import (
	"fmt"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// Plan prints what a resume would do.
func (t *Printer) Plan(p view.Plan) {
	t.planHead(p)
	for _, n := range p.Notes {
		t.Line(Yellow, "!", n)
	}
	t.planSteps(p)
	t.Line(Bold, "then:", p.Then)
}

// Planned prints what is replayed before a run goes on.
func (t *Printer) Planned(p view.Plan) {
	t.planHead(p)
	t.planSteps(p)
}

func (t *Printer) planHead(p view.Plan) {
	if len(p.Steps) == 0 && p.Checkpoint == "" && strings.HasPrefix(p.Then, "nothing: ") {
		t.Line(Bold, "resume", p.Then)
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
