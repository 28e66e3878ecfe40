package markdown

import "strings"

// Fence is an opening code fence.
type Fence struct {
	Mark byte // ` or ~
	Len  int
	Info string // what stands behind the marks
}

// OpenFence reads what stands on a line behind its indentation as an opening fence.
func OpenFence(rest string) (Fence, bool) {
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return Fence{}, false
	}
	mark := rest[0]
	n := len(rest) - len(strings.TrimLeft(rest, string(mark)))
	info := strings.TrimSpace(rest[n:])
	if n < 3 || mark == '`' && strings.Contains(info, "`") {
		return Fence{}, false
	}
	return Fence{Mark: mark, Len: n, Info: info}, true
}

// Tag is the first word behind the marks, and what stands behind it.
func (f Fence) Tag() (tag, attributes string) {
	tag, attributes, _ = strings.Cut(strings.ReplaceAll(f.Info, "\t", " "), " ")
	return tag, strings.TrimSpace(attributes)
}

// ClosedBy says whether a line ends the fence that was opened at column at.
func (f Fence) ClosedBy(line string, at int) bool {
	col, rest := Indent(line, 0)
	rest = strings.TrimRight(rest, " \t")
	return col <= at+3 && len(rest) >= f.Len && strings.Trim(rest, string(f.Mark)) == ""
}

// Nested says whether a line inside the fence looks like the beginning of another: its end would be
// taken for the fence's own.
func (f Fence) Nested(line string, at int) bool {
	col, rest := Indent(line, 0)
	if rest == "" || col > at+3 {
		return false
	}
	inner, ok := OpenFence(rest)
	return ok && inner.Mark == f.Mark && inner.Len >= f.Len && inner.Info != ""
}

// Indent skips blanks from column col on. A tab reaches to the next multiple of four.
func Indent(s string, col int) (int, string) {
	for i := range len(s) {
		switch s[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col, s[i:]
		}
	}
	return col, ""
}

// Outdent takes up to n columns of blanks off a line.
func Outdent(line string, n int) string {
	col := 0
	for i := range len(line) {
		if col >= n {
			return strings.Repeat(" ", col-n) + line[i:] // a tab may reach beyond
		}
		switch line[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return line[i:]
		}
	}
	return strings.Repeat(" ", max(0, col-n))
}
