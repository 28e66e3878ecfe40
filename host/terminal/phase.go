package terminal

import (
	"fmt"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// phaseFact prints a fact of a flow about its phases and artifacts; false of any other fact.
func (t *Printer) phaseFact(run string, e journal.Event) bool {
	switch b := e.Body.(type) {
	case journal.FlowPhaseStarted:
		t.phaseBegins(b)
	case journal.FlowPhaseEnded:
		t.phaseEnds(b)
	case journal.ArtifactsChecked:
		said := t.planned == run && b.Before == ""
		t.planned = ""
		for _, a := range b.Artifacts {
			if a.State != journal.ArtifactIntact && !said {
				t.Line(Yellow, "!", a.Path+"  "+a.Reason)
			}
		}
	case journal.ArtifactRestored:
		t.Line(Yellow, "~", fmt.Sprintf("%s is put back from its copy (%s)", b.Path, b.SHA[:min(8, len(b.SHA))]))
	case journal.PhaseRewound:
		for _, r := range b.Phases {
			if !r.Maybe {
				t.Line(Yellow, "~", fmt.Sprintf("%s is done again: %s", phaseName(r.Phase, r.Item), r.Reason))
			}
		}
	default:
		return false
	}
	return true
}

func phaseName(phase string, item *journal.PhaseItem) string {
	if item == nil {
		return phase
	}
	return phase + "[" + item.Name + "]"
}

func (t *Printer) phaseBegins(b journal.FlowPhaseStarted) {
	if b.Part != journal.PartWork && !t.Whole {
		return // its run says what it does
	}
	text := fmt.Sprintf("%s (%s)", phaseName(b.Phase, b.Item), b.Run)
	if b.Part != journal.PartWork {
		text += " " + string(b.Part)
	}
	if b.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", b.Attempt)
	}
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	t.Line(Cyan, ">", text)
}

func (t *Printer) phaseEnds(b journal.FlowPhaseEnded) {
	name := phaseName(b.Phase, b.Item)
	if b.Part != journal.PartWork && b.Outcome != journal.PhaseSkipped {
		name += " " + string(b.Part)
	}
	var parts []string
	if b.Took > 0 {
		parts = append(parts, view.Duration(b.Took))
	}
	if b.Cost > 0 {
		parts = append(parts, journal.Dollars(b.Cost))
	}
	for _, a := range b.Out {
		parts = append(parts, fmt.Sprintf("%s %s", a.Path, view.Bytes(a.Size)))
	}
	for _, a := range b.In {
		if a.SHA == "" {
			parts = append(parts, a.Path+" is not there any more")
		}
	}
	if b.Reason != "" {
		parts = append(parts, b.Reason)
	}
	text := strings.Join(parts, ", ")
	switch {
	case b.Part == journal.PartList && b.Outcome == journal.PhaseDone:
		t.Line(Dim, "·", fmt.Sprintf("%s: %s", b.Phase, view.Count(len(b.Items), "item")))
	case b.Failed, b.Outcome == journal.PhaseFailed:
		t.Line(Red, "✗", name+": "+text)
	case b.Outcome == journal.PhaseDone:
		t.Line(Green, "✓", name+": "+text)
	default:
		t.Line(Yellow, "-", fmt.Sprintf("%s %s: %s", name, b.Outcome, text))
	}
}
