package export

import (
	"bytes"
	"fmt"
	"strings"

	"agent/host/view"
)

// Markdown is a transcript for GitHub and other readers of Markdown.
func Markdown(v view.Export, o Options) []byte {
	d := build(v, o)
	w := &mdWriter{}
	if d.Level > 1 {
		w.heading(1, d.Title)
	}
	for _, s := range d.Runs {
		w.section(s)
	}
	return w.out.Bytes()
}

// mdWriter writes blocks with an empty line between two of them.
type mdWriter struct{ out bytes.Buffer }

// block writes lines of the program's own making.
func (w *mdWriter) block(lines ...string) {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	for _, l := range lines {
		w.out.WriteString(l + "\n")
	}
}

func (w *mdWriter) heading(level int, title string) {
	w.block(strings.Repeat("#", min(level, 6)) + " " + escapedFrom(title, false))
}

func (w *mdWriter) section(s section) {
	w.heading(s.Level, s.Title)
	var list []string
	for _, p := range s.Pairs {
		list = append(list, "- **"+p.Name+":** "+escaped(p.Value))
	}
	w.block(list...)
	for _, u := range s.Unread {
		w.block("> **Not all of this run could be read:** " + escaped(u))
	}
	for _, i := range s.Items {
		w.item(s.Level+1, i)
	}
	w.phases(s)
	w.files(s)
	for _, c := range s.Below {
		w.section(c)
	}
}

func (w *mdWriter) item(level int, i item) {
	tail := ""
	if i.Tail != "" {
		tail = escapedFrom(i.Tail, false)
	}
	switch i.Kind {
	case kindPrompt, kindTurn, kindEnd:
		w.heading(level, i.Head)
		small := strings.Join(nonEmpty(i.At, tail), ", ")
		if small != "" {
			w.block(small)
		}
	default:
		l := i.Mark
		if i.Head != "" {
			l += " **" + escapedFrom(i.Head, false) + "**"
		}
		if i.Code != "" {
			l += " " + codeSpan(i.Code)
		}
		if tail != "" && i.Kind == kindCall {
			tail = ": " + tail
		} else if tail != "" {
			tail = " " + tail
		}
		l += tail
		w.block(marked(l) + at(i.At))
	}
	if i.Run != "" {
		i.More = append(i.More, "run "+i.Run+" carries it out")
	}
	w.more(i.More)
	for _, t := range i.Text {
		w.text(t)
	}
}

// marked is a line that begins with a mark of the program's, which no reader may take for one of a
// list.
func marked(l string) string {
	if strings.HasPrefix(l, "-") || strings.HasPrefix(l, "=") || strings.HasPrefix(l, "~") || strings.HasPrefix(l, ">") || strings.HasPrefix(l, "+") {
		return `\` + l
	}
	return l
}

// at is when something happened, at the end of a line.
func at(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func (w *mdWriter) more(list []string) {
	var lines []string
	for _, m := range list {
		lines = append(lines, "- "+escaped(m))
	}
	if len(lines) > 0 {
		w.block(lines...)
	}
}

// text writes what somebody else wrote.
func (w *mdWriter) text(t text) {
	if t.Body == "" {
		return
	}
	if t.Fold {
		w.block("<details><summary>" + t.Name + sizeText(t) + "</summary>")
	} else if t.Name != "" && t.Name != "question" {
		w.block(t.Name + ":")
	}
	switch {
	case t.Prose:
		w.prose(t.Body)
	case t.Diff:
		w.block(fenced(t.Body, "diff", "")...)
	default:
		w.block(fenced(t.Body, "text", "")...)
	}
	if t.Fold {
		w.block("</details>")
	}
	if t.Note != "" {
		w.block(escaped(t.Note))
	}
}

// sizeText says how much opens on demand.
func sizeText(t text) string {
	if n := strings.Count(t.Body, "\n") + 1; n > 1 {
		return fmt.Sprintf(", %d lines", n)
	}
	return ", " + view.Bytes(int64(len(t.Body)))
}

// prose writes a text inside a quotation.
func (w *mdWriter) prose(body string) {
	var lines []string
	for n, p := range pieces(body) {
		if n > 0 {
			lines = append(lines, ">")
		}
		if p.Code != "" {
			lines = append(lines, fenced(p.Code, "", "> ")...)
			continue
		}
		for k, l := range p.Lines {
			text := spansText(l)
			if k < len(p.Lines)-1 {
				text += `\` // the line ends here
			}
			lines = append(lines, "> "+text)
		}
	}
	if len(lines) > 0 {
		w.block(lines...)
	}
}

func spansText(l spans) string {
	var b strings.Builder
	for n, s := range l {
		switch s.Style {
		case bold:
			b.WriteString("**" + escaped(s.Text) + "**")
		case code:
			b.WriteString(codeSpan(s.Text))
		default:
			b.WriteString(escapedFrom(s.Text, n == 0))
		}
	}
	return b.String()
}

// fenced puts a text between fences that are longer than any row of backticks in it, each line
// behind a prefix.
func fenced(body, info, prefix string) []string {
	fence := strings.Repeat("`", max(3, longestRow(body)+1))
	lines := []string{prefix + fence + info}
	for l := range strings.SplitSeq(body, "\n") {
		lines = append(lines, strings.TrimRight(prefix+l, " "))
	}
	return append(lines, prefix+fence)
}

func longestRow(text string) int {
	longest, row := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			row = 0
			continue
		}
		row++
		longest = max(longest, row)
	}
	return longest
}

// codeSpan is a text of one line as code.
func codeSpan(text string) string {
	marks := strings.Repeat("`", longestRow(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return marks + text + marks
}

// escaped is a text of one line, every character of which means itself.
func escaped(text string) string { return escapedFrom(text, true) }

// escapedFrom is escaped for a text that may stand in the middle of a line.
func escapedFrom(text string, start bool) string {
	var b strings.Builder
	if start {
		rest := strings.TrimLeft(text, " \t")
		for _, r := range text[:len(text)-len(rest)] {
			b.WriteString(strings.Repeat("\u00a0", map[rune]int{' ': 1, '\t': 4}[r]))
		}
		text = rest
		if n := len(text) - len(strings.TrimLeft(text, "0123456789")); n > 0 && n < len(text) && (text[n] == '.' || text[n] == ')') {
			b.WriteString(text[:n] + `\`)
			text, start = text[n:], false
		}
	}
	for n, r := range text {
		if special(r, text[:n], text[n:]) || start && n == 0 && strings.ContainsRune(">-+=", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// special says whether a character means something where it stands: past is what comes before it,
// rest begins with it.
func special(r rune, past, rest string) bool {
	next := byte(' ')
	if len(rest) > 1 {
		next = rest[1]
	}
	switch r {
	case '\\', '`', '*', '[', ']', '<', '|', '~', '$':
		return true
	case '#': // it begins a heading, or ends one
		return past == "" || strings.ContainsAny(past[len(past)-1:], " \t#")
	case '_': // within a word it is a letter
		return past == "" || !alnum(past[len(past)-1]) || !alnum(next)
	case '&':
		return next == '#' || alnum(next)
	case ':': // else an address becomes a link
		return strings.HasPrefix(rest, "://")
	case '.':
		return strings.HasSuffix(strings.ToLower(past), "www")
	}
	return false
}

func alnum(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func (w *mdWriter) phases(s section) {
	if len(s.Phases) == 0 {
		return
	}
	w.heading(s.Level+1, "Phases")
	lines := []string{"| phase | status | run | time | made |", "|---|---|---|---|---|"}
	for _, p := range s.Phases {
		status := p.Status
		if p.Reason != "" {
			status += ": " + p.Reason
		}
		lines = append(lines, "| "+strings.Join([]string{escaped(p.Name), escaped(status), escaped(p.Run), escaped(p.Took), escaped(p.Made)}, " | ")+" |")
	}
	w.block(lines...)
}

func (w *mdWriter) files(s section) {
	if len(s.Files) == 0 && len(s.Notes) == 0 {
		return
	}
	w.heading(s.Level+1, "Files changed")
	for _, f := range s.Files {
		w.block(strings.Join(nonEmpty(marked(f.Mark), codeSpan(f.Path), f.Lines), " "))
		w.more(f.Notes)
		w.text(f.Diff)
	}
	w.more(s.Notes)
}

func nonEmpty(texts ...string) (out []string) {
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
