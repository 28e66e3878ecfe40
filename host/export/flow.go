package export

import (
	"fmt"
	"strings"

	"agent/host/flow/table"
	"agent/host/view"
	"agent/recovery/journal"
)

// ofFlow takes a fact of a flow about its phases and files; false of any other.
func (b *builder) ofFlow(e journal.Event) bool {
	switch f := e.Body.(type) {
	case journal.FlowPhaseStarted:
		text := fmt.Sprintf("%s begins as run %s", phaseName(f.Phase, f.Item, f.Part), f.Run)
		if f.Attempt > 1 {
			text += fmt.Sprintf(", attempt %d", f.Attempt)
		}
		b.note(kindNote, ">", e.Time, text+because(f.Reason))
	case journal.FlowPhaseEnded:
		mark := "✓"
		if f.Failed || f.Outcome == journal.PhaseFailed {
			mark = "✗"
		} else if f.Outcome != journal.PhaseDone {
			mark = "-"
		}
		text := fmt.Sprintf("%s: %s", phaseName(f.Phase, f.Item, f.Part), f.Outcome)
		if f.Took > 0 {
			text += ", " + view.Duration(f.Took)
		}
		if f.Cost > 0 {
			text += ", " + journal.Dollars(f.Cost)
		}
		for _, a := range f.Out {
			text += fmt.Sprintf(", %s %s", a.Path, view.Bytes(a.Size))
		}
		b.note(kindNote, mark, e.Time, text+because(f.Reason))
	case journal.ArtifactsChecked:
		for _, a := range f.Artifacts {
			if a.State != journal.ArtifactIntact {
				b.note(kindWarn, "!", e.Time, a.Path+": "+string(a.State)+because(a.Reason))
			}
		}
	case journal.ArtifactRestored:
		b.note(kindNote, "~", e.Time, f.Path+" is put back from its copy")
	case journal.PhaseRewound:
		for _, r := range f.Phases {
			if !r.Maybe {
				b.note(kindNote, "~", e.Time, phaseName(r.Phase, r.Item, "")+" is done again"+because(r.Reason))
			}
		}
	default:
		return false
	}
	return true
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func phaseName(phase string, item *journal.PhaseItem, part journal.PhasePart) string {
	if item != nil {
		phase += "[" + item.Name + "]"
	}
	if part != "" && part != journal.PartWork {
		phase += " " + string(part)
	}
	return phase
}

// phases are the rows of a flow, branches behind the phase that they are of.
func phases(t *table.Table) (rows []phase) {
	for _, p := range t.Phases {
		rows = append(rows, phaseRow(p.Name, p))
		for _, x := range p.Branches {
			rows = append(rows, phaseRow(p.Name+"["+x.Item+"]", x))
		}
	}
	return rows
}

func phaseRow(name string, p table.Phase) phase {
	row := phase{Name: line(name), Status: line(p.StatusText()), Reason: line(p.Reason), Made: line(strings.Join(p.Outputs, ", "))}
	if p.Each == "" {
		row.Run = line(p.Run)
	}
	if p.Took() > 0 {
		row.Took = view.Duration(p.Took())
	}
	return row
}

// files adds the paths of a diff.
func (s *section) files(d *view.Diff) {
	if d == nil {
		return
	}
	for _, f := range d.Files {
		one := file{Mark: f.Kind.Mark(), Path: line(f.Path)}
		if f.Added+f.Removed > 0 {
			one.Lines = fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		}
		for _, n := range f.Notes {
			one.Notes = append(one.Notes, line(n))
		}
		if f.Others {
			one.Notes = append(one.Notes, "somebody else changed it too")
		}
		if one.Diff = output("diff", f.Diff); f.Diff != "" {
			one.Diff.Diff, one.Diff.Fold = true, true
		}
		if f.Cut {
			one.Diff.Note = "the diff is longer: agent diff " + line(d.Run) + " " + one.Path
		}
		s.Files = append(s.Files, one)
	}
	if d.More > 0 {
		s.Notes = append(s.Notes, "and "+view.Count(d.More, "more path")+": agent diff "+line(d.Run))
	}
}
