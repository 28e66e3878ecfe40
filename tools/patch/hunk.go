package patch

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// hunkLine is the first line of a hunk. It is compiled when it is first needed: every start of the
// binary would pay for it.
var hunkLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@`)
})

// hunk reads one hunk. Its counts decide where it ends if they fit what stands there; if not, it
// ends before what can be no line of a hunk.
func (r *reader) hunk() (Hunk, error) {
	h := Hunk{Line: r.n + 1, Start: -1}
	line := r.lines[r.n]
	m := hunkLine().FindStringSubmatch(line)
	switch {
	case m != nil:
		h.Start = number(m[1], 0)
	case strings.HasPrefix(line, "@@@"):
		return h, r.wrong(r.n, "the diff of a merge cannot be applied")
	case strings.HasPrefix(line, "@@ -") && len(line) > 4 && line[4] >= '0' && line[4] <= '9':
		return h, r.wrong(r.n, "%s cannot be read: a hunk begins with @@ -OLD,COUNT +NEW,COUNT @@", shown(line))
	case line != "@@" && !strings.HasPrefix(line, "@@ "):
		return h, r.wrong(r.n, "%s cannot be read: a hunk begins with @@ -OLD,COUNT +NEW,COUNT @@", shown(line))
	}
	r.n++
	if m == nil || !r.counted(&h, number(m[2], 1), number(m[4], 1)) {
		h.Start = -1 // who counts wrong names no place either
		if err := r.uncounted(&h); err != nil {
			return h, err
		}
	}
	for _, l := range h.Lines {
		if l.Op != ' ' {
			return h, nil
		}
	}
	if len(h.Lines) == 0 {
		return h, r.wrong(h.Line-1, "the hunk has no lines")
	}
	return h, r.wrong(h.Line-1, "the hunk changes nothing: no line begins with + or -")
}

func number(text string, otherwise int) int {
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise // the expression admits nine digits, so this cannot be
	}
	return n
}

// counted reads as many lines as the header says. It says no, and takes nothing, when that is not
// where the hunk ends.
func (r *reader) counted(h *Hunk, old, new int) bool {
	at, lines := r.n, []Line(nil)
	for old > 0 || new > 0 || strings.HasPrefix(r.at(at), `\`) {
		if at >= len(r.lines) {
			return false
		}
		l, ok := lineOf(r.lines[at], &lines)
		if !ok {
			return false
		}
		switch l {
		case ' ':
			old, new = old-1, new-1
		case '-':
			old--
		case '+':
			new--
		}
		at++
	}
	if old < 0 || new < 0 || !r.endAt(at) {
		return false
	}
	h.Lines, r.n = lines, at
	return true
}

// endAt says whether a hunk can end before a line.
func (r *reader) endAt(i int) bool {
	for i < len(r.lines) && strings.TrimSpace(r.lines[i]) == "" {
		i++
	}
	return i >= len(r.lines) || strings.IndexByte(" +-\\", r.lines[i][0]) < 0 || r.headerAt(i) || r.signature(i)
}

// lineOf takes one line of a hunk. An empty one is an empty context line whose space was lost on
// the way.
func lineOf(text string, into *[]Line) (byte, bool) {
	switch {
	case text == "":
		*into = append(*into, Line{' ', "\n"})
		return ' ', true
	case text[0] == '\\' && len(*into) > 0:
		last := &(*into)[len(*into)-1]
		last.Text = strings.TrimSuffix(last.Text, "\n")
		return '\\', true
	case text[0] == ' ' || text[0] == '-' || text[0] == '+':
		*into = append(*into, Line{text[0], text[1:] + "\n"})
		return text[0], true
	}
	return 0, false
}

// uncounted reads up to what can be no line of the hunk. Empty lines at its end are white space of
// the patch.
func (r *reader) uncounted(h *Hunk) error {
	var lines []Line
	blank := 0
	for ; r.n < len(r.lines); r.n++ {
		text := r.lines[r.n]
		if r.headerAt(r.n) {
			h.doubt = text[1:] + "\n"
			break
		}
		if strings.HasPrefix(text, "@@") || strings.HasPrefix(text, "diff ") || strings.HasPrefix(text, "Index: ") || r.signature(r.n) {
			break
		}
		if _, ok := lineOf(text, &lines); !ok {
			return r.wrong(r.n, "%s begins with neither a space (context), + (added), - (deleted) nor \\", shown(text))
		}
		if blank++; text != "" {
			blank = 0
		}
	}
	h.Lines = lines[:len(lines)-blank]
	return nil
}
