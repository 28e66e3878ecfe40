package outline

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Write prints the order, the phases and the artifacts for a person. width is that of the terminal
// in cells, 0 where there is none.
func (v View) Write(t *terminal.Terminal, width int) {
	head := fmt.Sprintf("%s: %s, task %s", v.File, view.Count(len(v.Phases), "phase"), v.Task)
	if limits := limitText(v.def.Limits); limits != "" {
		head += ", at most " + limits
	}
	if v.OnFail != flow.FailStop {
		head += ", on failure " + string(v.OnFail)
	}
	t.Say(t.Out, "%s", head)
	if len(v.Order) == 0 {
		return
	}
	t.Say(t.Out, "\n%s\n", v.line(width))
	table := terminal.Table{Head: []string{"PHASE", "AFTER", "MODEL", "MODE", "TRIES", "AT MOST", "AND"}, Most: []int{0, 24, 36, 0, 0, 24, 0}, Fit: width}
	for _, p := range v.Phases {
		table.Add(p.Name, or(strings.Join(p.After, ", "), "-"), or(p.Model, "the run's"), or(p.Mode, "the run's"), fmt.Sprint(p.Tries),
			or(limitText(p.phase.Limits), "-"), strings.Join(v.notes(p), "; "))
	}
	table.Write(t.Out)
	if len(v.Artifacts) > 0 {
		t.Say(t.Out, "")
		v.writeArtifacts(t, width)
	}
	for i, k := range v.MissingKeys {
		if i == 0 {
			t.Say(t.Out, "")
		}
		t.Say(t.Out, "no key of %s yet: set %s before it is run, for %s", k.Provider, k.Variable, few(k.Phases))
	}
}

func (v View) writeArtifacts(t *terminal.Terminal, width int) {
	table := terminal.Table{Head: []string{"ARTIFACT", "MADE BY", "USED BY", "MUST HAVE"}, Most: []int{48, 30, 40, 0}, Fit: width}
	source := "in the folder"
	if !v.OK {
		source = "no phase" // and it may be missing
	}
	for _, a := range v.Artifacts {
		table.Add(a.Path, or(strings.Join(a.MadeBy, ", "), source), or(strings.Join(a.UsedBy, ", "), "-"), a.holds)
	}
	table.Write(t.Out)
}

func or(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// line is the order of the phases: a > b + c > d. It is broken where the terminal ends.
func (v View) line(width int) string {
	if width <= 0 {
		width = 100
	}
	var lines []string
	line := ""
	for i, wave := range v.Order {
		for j, name := range wave {
			piece := name
			switch {
			case j < len(wave)-1:
				piece += " +"
			case i < len(v.Order)-1:
				piece += " >"
			}
			if line != "" && displaywidth.String(line+" "+piece) > width {
				lines, line = append(lines, line), "   "
			}
			if line != "" {
				piece = " " + piece
			}
			line += piece
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// notes are what else is special about a phase.
func (v View) notes(p Phase) []string {
	var all []string
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(p.Beside) > 0 {
		note("beside %s", few(p.Beside))
	}
	if p.Each != "" {
		at := v.def.Branches(p.phase, p.phase.Mode)
		if at == 1 {
			note("each item of %s, one after the other", p.Each)
		} else {
			note("each item of %s, %d at once", p.Each, at)
		}
	}
	if p.SkipIf != nil {
		note("skipped if %s", quoted(p.SkipIf.Command))
	}
	if p.Ask != "" {
		note("asks %q", cut(p.Ask))
	}
	if p.Tools != nil {
		note("tools: %s", or(few(*p.Tools), "none"))
	}
	for _, c := range p.Checks {
		note("checks %s", quoted(c.Command))
	}
	if p.Pass != "" {
		note("passes with %q", cut(p.Pass))
	}
	switch {
	case p.OnFail == flow.FailBack:
		note("else back to %s, %s", p.Back, times(p.Rounds))
	case p.OnFail != v.OnFail:
		note("on failure %s", p.OnFail)
	}
	switch p.Redo {
	case flow.RedoSafe:
		note("may be done again")
	case flow.RedoNever:
		note("is never done again")
	}
	return all
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("at most %d times", n)
}

// few lists the first names.
func few(names []string) string {
	const most = 4
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// cut shortens a text to what fits a note.
func cut(text string) string {
	return displaywidth.TruncateString(strings.Join(strings.Fields(text), " "), 48, "…")
}

func quoted(command string) string { return "`" + cut(command) + "`" }

// limitText says what bounds a phase or the flow; "" where nothing does.
func limitText(l journal.Limits) string {
	var all []string
	if l.MaxCost > 0 {
		all = append(all, journal.Dollars(l.MaxCost))
	}
	if l.MaxTokens > 0 {
		all = append(all, view.Number(l.MaxTokens)+" tokens")
	}
	if l.MaxTurns > 0 {
		all = append(all, view.Count(l.MaxTurns, "turn"))
	}
	if l.Timeout > 0 {
		all = append(all, view.Duration(l.Timeout))
	}
	return strings.Join(all, ", ")
}

// holds says what must hold of an output.
func holds(o flow.Output) string {
	var all []string
	if o.Min > 0 {
		all = append(all, "at least "+view.Bytes(o.Min))
	}
	for _, line := range o.Has {
		all = append(all, fmt.Sprintf("%q", cut(line)))
	}
	if o.Match != "" {
		all = append(all, "a match of "+cut(o.Match))
	}
	if o.Schema != "" {
		all = append(all, "the form of "+o.Schema)
	}
	if o.Empty {
		all = append(all, "nothing: it may be empty")
	}
	if o.NoCopy {
		all = append(all, "no copy")
	}
	return strings.Join(all, ", ")
}
