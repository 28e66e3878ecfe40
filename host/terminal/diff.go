package terminal

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"agent/host/pager"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/journal"
)

// Diff prints a diff on stdout: as it is into a file or a pipe, where git may read it; coloured and
// without what a terminal would obey on a terminal, and by the pager where it is longer than the
// screen. none says that there was nothing in it.
func (t *Terminal) Diff(files iter.Seq2[view.DiffFile, error]) (none bool, err error) {
	_, shown := terminalFile(t.Out)
	screen, out := NewScreen(t.Out, t.Getenv), t.Out
	if p := t.pager(); p != nil {
		out = p
		defer func() { _ = p.Close() }() // a reader that went away stops the showing, nothing else
	}
	none = true
	for f, err := range files {
		if err != nil {
			return none, err
		}
		none = false
		text := noted(f) + f.Diff
		if shown {
			text = screen.diff(text)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return none, nil // as above; what cannot be written is reported at the end: Undelivered
		}
	}
	return none, nil
}

// pager is what pages stdout; nil where nothing does.
func (t *Terminal) pager() *pager.Pager {
	out, ok := terminalFile(t.Out)
	if !ok {
		return nil
	}
	return pager.New(t.In, out, t.Getenv)
}

// noted is what a diff cannot say itself, in lines that git passes over.
func noted(f view.DiffFile) string {
	text := ""
	for _, n := range f.Notes {
		text += "# " + diffName(f) + ": " + n + "\n"
	}
	return text
}

// diffName is the path on one line, with what cannot be seen shown by its number.
func diffName(f view.DiffFile) string { return strings.ReplaceAll(stream.Visible(f.Path), "\n", `\n`) }

// diff is a diff for a terminal.
func (s *Screen) diff(text string) string {
	var b strings.Builder
	hunk := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		hunk = hunk && !strings.HasPrefix(line, "diff --git ") && !strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "@@ ")
		b.WriteString(s.paint(diffStyle(line, hunk), diffLine(line)) + "\n")
	}
	return b.String()
}

// diffLine is one line without what a terminal would obey, and with what it would not show.
func diffLine(line string) string {
	cut, crlf := strings.CutSuffix(line, "\r")
	cut = stream.Visible(cut)
	if crlf {
		cut += "^M"
	}
	return cut
}

func diffStyle(line string, hunk bool) Style {
	switch {
	case strings.HasPrefix(line, "@@ "):
		return Cyan
	case strings.HasPrefix(line, "# "):
		return Yellow
	case !hunk:
		return Bold
	case strings.HasPrefix(line, "+"):
		return Green
	case strings.HasPrefix(line, "-"):
		return Red
	case strings.HasPrefix(line, `\`):
		return Dim
	}
	return Plain
}

// Stat prints one line a path, and a total.
func (t *Terminal) Stat(files []view.DiffFile) {
	fit := t.Width()
	if fit == 0 {
		fit = 80
	}
	screen := NewScreen(t.Out, t.Getenv)
	width, added, removed := 0, 0, 0
	for _, f := range files {
		width = min(max(width, displaywidth.String(diffName(f))), max(8, fit-24))
		added, removed = added+f.Added, removed+f.Removed
	}
	kinds := map[view.DiffKind]int{}
	for _, f := range files {
		kinds[f.Kind]++
		name := endOf(diffName(f), width)
		name += strings.Repeat(" ", max(0, width-displaywidth.String(name)))
		by := ""
		if phases := f.Phases(); len(phases) > 0 {
			by = "  " + strings.Join(phases, ", ")
		}
		_, _ = fmt.Fprintf(t.Out, "%s %s  %s%s\n", f.Kind.Mark(), name, screen.counts(f), by) // as in Say
	}
	var parts []string
	for _, k := range []view.DiffKind{view.DiffAdded, view.DiffChanged, view.DiffRemoved} {
		if kinds[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", kinds[k], k))
		}
	}
	t.Say(t.Out, "%s: %s; +%d -%d", view.Count(len(files), "path"), strings.Join(parts, ", "), added, removed)
}

// endOf is the end of a text that is too wide, which tells a path from others.
func endOf(text string, width int) string {
	if displaywidth.String(text) <= width {
		return text
	}
	for i := range text {
		if displaywidth.String(text[i:]) < width {
			return "…" + text[i:]
		}
	}
	return "…"
}

// counts says how much of a file changed.
func (s *Screen) counts(f view.DiffFile) string {
	text := ""
	switch {
	case f.Binary:
		text = "no text"
	case f.Added+f.Removed > 0:
		text = s.paint(Green, fmt.Sprintf("+%d", f.Added)) + " " + s.paint(Red, fmt.Sprintf("-%d", f.Removed))
	case f.Before != nil && f.Before.Lost != "":
		text = "not kept (" + string(f.Before.Lost) + ")"
	case f.After != nil && f.After.Lost != "":
		text = "not kept (" + string(f.After.Lost) + ")"
	case f.Before != nil && f.After != nil && f.Before.Mode != f.After.Mode:
		text = "mode " + f.Before.Mode + " to " + f.After.Mode
	case f.After != nil && f.After.Kind == journal.FileFolder, f.Before != nil && f.Before.Kind == journal.FileFolder:
		text = "folder"
	default:
		text = "empty"
	}
	if f.Others {
		text += "  others too"
		if len(f.Calls) == 0 {
			text = strings.TrimSuffix(text, " too")
		}
	}
	return text
}

// mostDiff is how many lines of a diff are shown where it happens.
const mostDiff = 20

// seen prints the diff of what a file tool changed, below the line that names its paths.
func (t *Printer) seen(run string, b journal.FilesChanged) {
	if t.Diffs == nil || b.During == nil || !edits(t.call(run, *b.During).Tool) {
		return
	}
	t.lines(t.Diffs.Seen(run, b), fmt.Sprintf(": agent diff %s@%d..@%d", run, b.During.Turn-1, b.During.Turn))
}

// Would prints the diff of what a call that waits for permission would change.
func (t *Printer) Would(f view.DiffFile) {
	t.Line(Dim, "│", diffName(f)+" would change:")
	t.lines([]view.DiffFile{f}, "")
}

func edits(tool string) bool {
	return tool == "write_file" || tool == "edit_file" || tool == "apply_patch"
}

// lines prints the hunks of a few files, cut after some lines. more is the command that shows all.
func (t *Printer) lines(files []view.DiffFile, more string) {
	var all []string
	for _, f := range files {
		if len(files) > 1 {
			all = append(all, t.out.paint(Bold, "  │ "+diffName(f)))
		}
		_, text, hunks := strings.Cut("\n"+f.Diff, "\n@@ ")
		if !hunks {
			text = noted(f)
		} else {
			text = "@@ " + text
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			all = append(all, t.out.paint(Dim, "  │ ")+t.out.paint(diffStyle(line, hunks), diffLine(view.Clipped(line, len(line)))))
		}
	}
	for _, l := range all[:min(len(all), mostDiff)] {
		t.print(l)
	}
	if n := len(all) - mostDiff; n > 0 {
		t.print(t.out.paint(Dim, "  │ … "+view.Count(n, "more line")+more))
	}
}
