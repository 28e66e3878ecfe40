package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"agent/host/flow/table"
	"agent/host/view"
)

// mostBranches is how many branches of a phase are listed that are not done.
const mostBranches = 12

// Flow prints how a flow stands: a row for each phase with what it made, and below a phase of many
// branches a row for each that is neither done nor to come.
func (t *Terminal) Flow(v *table.Table) { writeFlow(t.Out, v, t.Width()) }

func writeFlow(w io.Writer, v *table.Table, width int) {
	out := Table{
		Fit:  width,
		Head: []string{"PHASE", "STATUS", "TRY", "RUN", "TIME", "COST", "ARTIFACTS"},
		Most: []int{32, 0, 0, 0, 0, 0, 0},
	}
	if files := slices.ContainsFunc(v.Phases, func(p table.Phase) bool { return p.Files != nil }); files {
		out.Head = slices.Insert(out.Head, 6, "FILES")
		out.Most = append(out.Most, 0)
	}
	for _, p := range v.Phases {
		if p.Each != "" {
			addEach(&out, v, p)
			continue
		}
		addPhase(&out, p.Name, p, v.Of(p))
	}
	if sources := v.Of(table.Phase{}); slices.ContainsFunc(sources, func(a table.Artifact) bool { return len(a.Notes()) > 0 }) {
		addRow(&out, "", "(read)")
		for _, a := range sources {
			if len(a.Notes()) > 0 {
				out.Note(artifactText(a))
			}
		}
	}
	out.Write(w)
}

func addPhase(out *Table, name string, p table.Phase, made []table.Artifact) {
	first := ""
	if len(made) > 0 {
		first, made = artifactText(made[0]), made[1:]
	}
	addRow(out, filesText(p), name, p.StatusText(), p.TryText(), p.Run, tookText(p), costText(p), first)
	for _, a := range made {
		out.More(artifactText(a))
	}
	notes(out, p)
}

// notes says below a row why the phase stands so, and how its question is answered.
func notes(out *Table, p table.Phase) {
	if p.Reason != "" {
		out.Note(p.Reason)
	}
	if p.Request != "" {
		out.Note("? " + view.AnswerCommand(p.Request))
	}
}

// addEach adds a phase of many branches: one row with counts, and those that somebody may want to
// look at.
func addEach(out *Table, v *table.Table, p table.Phase) {
	var counts []string
	for _, s := range table.Statuses() {
		if n := p.Counts[s]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	made, size := v.Of(p), int64(0)
	for _, a := range made {
		size += a.Bytes
	}
	text, items := strings.Join(counts, ", "), ""
	if n := len(p.Branches); n > 0 {
		items = view.Count(n, "item")
	}
	if len(made) > 0 {
		text += fmt.Sprintf("; %s, %s", view.Count(len(made), "file"), view.Bytes(size))
	}
	addRow(out, filesText(p), p.Name, p.StatusText(), "", items, tookText(p), costText(p), text)
	if p.Reason != "" {
		notes(out, table.Phase{Reason: p.Reason})
	}
	left := 0
	for _, x := range p.Branches {
		changed := slices.ContainsFunc(v.Of(x), func(a table.Artifact) bool { return len(a.Notes()) > 0 })
		if quiet := x.Status == table.Done || x.Status == table.Skipped || x.Status == table.NotYet; quiet && !changed {
			continue
		}
		if left++; left > mostBranches {
			continue
		}
		addPhase(out, "└ "+x.Item, x, v.Of(x))
	}
	if left -= mostBranches; left > 0 {
		addRow(out, "", fmt.Sprintf("└ and %d more", left))
	}
}

// addRow adds a row of up to seven cells, with the count of files before the last where the table
// has it.
func addRow(out *Table, files string, cells ...string) {
	cells = append(cells, make([]string, 7-len(cells))...)
	if len(out.Head) > len(cells) {
		cells = slices.Insert(cells, 6, files)
	}
	out.Add(cells...)
}

func filesText(p table.Phase) string { return (*view.FileCounts)(p.Files).Marks() }

// artifactText is a file in one line: path, size, digest, and what is special about it.
func artifactText(a table.Artifact) string {
	digest := a.Digest[:min(8, len(a.Digest))]
	return strings.Join(append([]string{fmt.Sprintf("%s %s %s", a.Path, view.Bytes(a.Bytes), digest)}, a.Notes()...), ", ")
}

func tookText(p table.Phase) string {
	if p.Took() == 0 {
		return ""
	}
	return view.Duration(p.Took())
}

// costText is a cost to the cent.
func costText(p table.Phase) string {
	switch c := p.Cost; {
	case c <= 0:
		return ""
	case c < 10_000:
		return "<$0.01"
	default:
		return fmt.Sprintf("$%.2f", float64(c)/1e6)
	}
}
