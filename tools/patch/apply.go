package patch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Count says how many lines a patch adds to a file and takes from it.
type Count struct{ Added, Removed int }

// Apply makes a file's new content of its old one, nil for a file that is made. Every context line
// and every deleted line must stand there, byte for byte: at the line that the hunk names, or else
// at one single place of the file. The error names the hunk, the line and what stands there
// instead.
func (f File) Apply(old []byte) ([]byte, Count, error) {
	c := content{lines: bytes.SplitAfter(old, []byte("\n"))}
	if n := len(c.lines); len(c.lines[n-1]) == 0 {
		c.lines = c.lines[:n-1]
	}
	c.crlf = len(c.lines) > 0 && bytes.Count(old, []byte("\r\n")) == bytes.Count(old, []byte("\n")) && bytes.Contains(old, []byte("\n"))
	if f.Delete() && len(f.Hunks) == 0 && len(old) > 0 {
		return nil, Count{}, fmt.Errorf("delete %s: it is not empty; a file is deleted by a hunk that deletes all of its lines", f.Name())
	}
	var out []byte
	var n Count
	end := 0
	for i, h := range f.Hunks {
		at, lines, err := c.place(h, end)
		if err == nil && len(c.lines) == 0 && i > 0 {
			err = errors.New("the file is empty, so there is one hunk at most")
		}
		if err != nil {
			return nil, n, fmt.Errorf("%s, hunk %d (line %d of the patch): %w", f.Name(), i+1, h.Line, err)
		}
		out = c.copy(out, end, at)
		out, end = n.add(out, lines, at)
	}
	out = c.copy(out, end, len(c.lines))
	if f.Delete() && len(out) > 0 {
		return nil, n, fmt.Errorf("delete %s: the patch deletes %d of its %d lines, and a file is deleted by a hunk that deletes all of them",
			f.Name(), n.Removed, len(c.lines))
	}
	return out, n, nil
}

// add writes the new lines of a hunk, which begins at a line of the old file, and returns the old
// line behind it.
func (n *Count) add(out []byte, lines []Line, at int) ([]byte, int) {
	for _, l := range lines {
		switch l.Op {
		case '-':
			n.Removed++
		case '+':
			n.Added++
		}
		if l.Op != '+' {
			at++
		}
		if l.Op != '-' {
			out = append(out, l.Text...)
		}
	}
	return out, at
}

// content is a file as lines.
type content struct {
	lines [][]byte // with their ends
	crlf  bool     // each of them ends in CR LF
}

// copy writes the lines from one up to another.
func (c content) copy(out []byte, from, to int) []byte {
	for _, l := range c.lines[from:to] {
		out = append(out, l...)
	}
	return out
}

// fit is a hunk as it would stand in this file.
func (c content) fit(h Hunk) (all []Line, old []string) {
	foreign := c.crlf
	for _, l := range h.Lines {
		foreign = foreign && !strings.HasSuffix(l.Text, "\r\n")
	}
	for _, l := range h.Lines {
		if bare, ok := strings.CutSuffix(l.Text, "\n"); ok && foreign {
			l.Text = bare + "\r\n"
		}
		all = append(all, l)
		if l.Op != '+' {
			old = append(old, l.Text)
		}
	}
	return all, old
}

// place finds where a hunk belongs. end is the line after the hunk before it, from 0.
func (c content) place(h Hunk, end int) (int, []Line, error) {
	lines, old := c.fit(h)
	if err := ends(lines); err != nil {
		return 0, nil, err
	}
	if len(old) == 0 {
		if len(c.lines) > 0 {
			return 0, nil, errors.New("it only adds lines, and nothing says where: give lines that are there already as context")
		}
		return 0, lines, nil
	}
	lines, old = c.lastEnd(lines, old)
	at, err := c.find(h, old, end)
	if err != nil {
		return 0, nil, err
	}
	if at < end {
		return 0, nil, fmt.Errorf("it fits at line %d, which is above the end of the hunk before it: give hunks in the file's order", at+1)
	}
	if at+len(old) < len(c.lines) && open(lines) {
		return 0, nil, fmt.Errorf(`"\ No newline at end of file" stands in it, and line %d is not the file's last`, at+len(old))
	}
	if h.doubt != "" && c.holds(h.doubt) {
		return 0, nil, fmt.Errorf("its counts are wrong, and the line %s after it may be one of its own or the next file's name: fix the counts", shown("-"+h.doubt))
	}
	return at, lines, nil
}

// ends refuses a line without an end before another one of the same side.
func ends(lines []Line) error {
	var old, new bool // a line without an end stood there
	for _, l := range lines {
		if l.Op != '+' && old || l.Op != '-' && new {
			return errors.New(`"\ No newline at end of file" stands above another line`)
		}
		if strings.HasSuffix(l.Text, "\n") {
			continue
		}
		old, new = old || l.Op != '+', new || l.Op != '-'
	}
	return nil
}

// open says whether the new content of a hunk ends without a line end.
func open(lines []Line) bool {
	for _, l := range lines {
		if l.Op != '-' && !strings.HasSuffix(l.Text, "\n") {
			return true
		}
	}
	return false
}

// lastEnd takes the line end off a hunk's last line where that is context and can only be the
// file's last line, which has none: what stays as it is cannot be misread.
func (c content) lastEnd(lines []Line, old []string) ([]Line, []string) {
	last, n := len(lines)-1, len(c.lines)
	if n == 0 || lines[last].Op != ' ' || bytes.HasSuffix(c.lines[n-1], []byte("\n")) || len(old) > n {
		return lines, old
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(lines[last].Text, "\n"), "\r")
	if string(c.lines[n-1]) != bare || !c.matches(n-len(old), old[:len(old)-1]) || len(c.all(old)) > 0 {
		return lines, old
	}
	lines[last].Text, old[len(old)-1] = bare, bare
	return lines, old
}

func (c content) holds(line string) bool {
	for _, l := range c.lines {
		if strings.TrimRight(string(l), "\r\n") == strings.TrimRight(line, "\r\n") {
			return true
		}
	}
	return false
}

// matches says whether lines stand at a place.
func (c content) matches(at int, lines []string) bool {
	if at < 0 || at+len(lines) > len(c.lines) {
		return false
	}
	for i, l := range lines {
		if string(c.lines[at+i]) != l {
			return false
		}
	}
	return true
}

// all lists the places at which lines stand.
func (c content) all(lines []string) []int {
	var places []int
	for at := range c.lines {
		if c.matches(at, lines) {
			places = append(places, at)
		}
	}
	return places
}

// find looks at the line that the hunk names, and else for the one place where its lines stand.
func (c content) find(h Hunk, old []string, end int) (int, error) {
	if h.Start > 0 && h.Start-1 >= end && c.matches(h.Start-1, old) {
		return h.Start - 1, nil
	}
	switch places := c.all(old); len(places) {
	case 1:
		return places[0], nil
	case 0:
		return 0, c.misfit(h, old)
	default:
		return 0, fmt.Errorf("its lines stand at %s, and it names none of these places: give more lines around the change", listed(places))
	}
}

func listed(places []int) string {
	const most = 5
	var words []string
	for i, at := range places {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(places)-most))
			break
		}
		words = append(words, fmt.Sprintf("line %d", at+1))
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// misfit words why a hunk has no place: by the line it names where it fits there in part, and else
// where it fits best.
func (c content) misfit(h Hunk, old []string) error {
	at, fits := max(h.Start-1, 0), 0
	if at < len(c.lines) {
		fits = c.prefix(at, old)
	}
	for i := range c.lines {
		if n := c.prefix(i, old); n > fits {
			at, fits = i, n
		}
	}
	want := old[fits]
	if at+fits >= len(c.lines) {
		return fmt.Errorf("it does not fit: the patch has the line %s, and the file ends with its line %d", shown(want), len(c.lines))
	}
	got := string(c.lines[at+fits])
	why := fmt.Sprintf("it does not fit: the patch has the line %s, and line %d of the file is %s", shown(want), at+fits+1, shown(got))
	switch {
	case strings.TrimSuffix(want, "\n") == strings.TrimSuffix(got, "\n") && strings.HasSuffix(want, "\n"):
		why += `; the file ends without a line end there: put the line "\ No newline at end of file" below it`
	case strings.TrimSuffix(want, "\n") == strings.TrimSuffix(got, "\n"):
		why += "; in the file it ends with a line end"
	case strings.TrimRight(want, "\r\n") == strings.TrimRight(got, "\r\n"):
		why += "; they end differently (CR LF)"
	case strings.Join(strings.Fields(want), "") == strings.Join(strings.Fields(got), ""):
		why += "; they differ in white space"
	}
	var new []string
	lines, _ := c.fit(h)
	for _, l := range lines {
		if l.Op != '-' {
			new = append(new, l.Text)
		}
	}
	if done := c.all(new); len(new) > 0 && len(done) == 1 {
		why += fmt.Sprintf("; what the hunk would make stands at line %d already", done[0]+1)
	}
	return errors.New(why)
}

// prefix counts how many of the lines stand at a place.
func (c content) prefix(at int, lines []string) int {
	n := 0
	for n < len(lines) && at+n < len(c.lines) && string(c.lines[at+n]) == lines[n] {
		n++
	}
	return n
}
