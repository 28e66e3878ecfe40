package ignore

import (
	"fmt"
	"regexp"
	"strings"
)

// translate makes a regular expression of a pattern of git's. In a path (slashes count) a star
// stands for what has no slash. It reports false for a pattern that git matches with nothing.
func translate(pattern string, slashes bool) (string, bool) {
	t := &translator{p: pattern, one: `(?s:.)`}
	if slashes {
		t.one = `[^/]`
	}
	for t.i < len(t.p) {
		if !t.next(slashes) {
			return "", false
		}
	}
	return `\A` + t.out.String() + `\z`, true
}

type translator struct {
	p   string
	i   int
	one string // what a question mark stands for
	out strings.Builder
}

func (t *translator) next(slashes bool) bool {
	c := t.p[t.i]
	switch c {
	case '*':
		t.stars(slashes)
		return true
	case '?':
		t.out.WriteString(t.one)
	case '[':
		return t.set(slashes)
	case '\\':
		if t.i++; t.i == len(t.p) {
			return false
		}
		c = t.p[t.i]
		fallthrough
	default:
		t.out.WriteString(regexp.QuoteMeta(string(rune(c))))
	}
	t.i++
	return true
}

func (t *translator) stars(slashes bool) {
	begin := t.i
	for t.i < len(t.p) && t.p[t.i] == '*' {
		t.i++
	}
	rest := t.p[t.i:]
	alone := (begin == 0 || t.p[begin-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	switch {
	case slashes && t.i-begin > 1 && alone && strings.HasPrefix(rest, "/"):
		t.out.WriteString(`(?s:.*/)?`)
		t.i++
	case slashes && t.i-begin > 1 && alone, !slashes:
		t.out.WriteString(`(?s:.*)`)
	default:
		t.out.WriteString(`[^/]*`)
	}
}

// set reads a bracket expression the way git does, with its odd corners.
func (t *translator) set(slashes bool) bool {
	s := bracket{p: t.p, i: t.i + 1}
	negated := s.at() == '!' || s.at() == '^'
	if negated {
		s.i++
	}
	for first := true; first || s.at() != ']'; first = false {
		if !s.member() {
			return false
		}
		s.i++
	}
	t.i = s.i + 1
	t.out.WriteByte('[')
	some := false
	for b := range 256 {
		if s.has[b] != negated && !(slashes && b == '/') && b != 0 {
			fmt.Fprintf(&t.out, `\x{%x}`, b)
			some = true
		}
	}
	t.out.WriteByte(']')
	return some
}

// bracket is a bracket expression while it is read.
type bracket struct {
	p    string
	i    int
	prev byte // the member before, if a range may begin with it
	has  [256]bool
}

// at is the present byte, or 0 behind the end.
func (s *bracket) at() byte { return s.ahead(0) }

func (s *bracket) ahead(n int) byte {
	if s.i+n < len(s.p) {
		return s.p[s.i+n]
	}
	return 0
}

// member reads one member and stays on its last byte. It reports false if the expression is broken.
func (s *bracket) member() bool {
	c := s.at()
	switch {
	case c == 0:
		return false
	case c == '\\':
		s.i++
		if c = s.at(); c == 0 {
			return false
		}
		s.has[c], s.prev = true, c
	case c == '-' && s.prev != 0 && s.ahead(1) != 0 && s.ahead(1) != ']':
		s.i++
		if s.at() == '\\' {
			s.i++
		}
		end := s.at()
		if end == 0 {
			return false
		}
		for b := int(s.prev); b <= int(end); b++ {
			s.has[b] = true
		}
		s.prev = 0
	case c == '[' && s.ahead(1) == ':':
		return s.class()
	default:
		s.has[c], s.prev = true, c
	}
	return true
}

// class reads a class such as [:alpha:].
func (s *bracket) class() bool {
	begin := s.i + 2
	n := strings.IndexByte(s.p[begin:], ']')
	if n < 0 {
		return false
	}
	if n == 0 || s.p[begin+n-1] != ':' { // no class: an ordinary member
		s.has['['], s.prev = true, '['
		return true
	}
	in, ok := classes(s.p[begin : begin+n-1])
	if !ok {
		return false
	}
	for b := range 128 {
		s.has[b] = s.has[b] || in(byte(b))
	}
	s.i, s.prev = begin+n, 0
	return true
}

// classes gives the members of a class, which are ASCII as in git.
func classes(name string) (func(byte) bool, bool) {
	lower := func(b byte) bool { return b >= 'a' && b <= 'z' }
	upper := func(b byte) bool { return b >= 'A' && b <= 'Z' }
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	alnum := func(b byte) bool { return lower(b) || upper(b) || digit(b) }
	graph := func(b byte) bool { return b > ' ' && b < 0x7f }
	switch name {
	case "lower":
		return lower, true
	case "upper":
		return upper, true
	case "digit":
		return digit, true
	case "alpha":
		return func(b byte) bool { return lower(b) || upper(b) }, true
	case "alnum":
		return alnum, true
	case "blank":
		return func(b byte) bool { return b == ' ' || b == '\t' }, true
	case "cntrl":
		return func(b byte) bool { return b < ' ' || b == 0x7f }, true
	case "graph":
		return graph, true
	case "print":
		return func(b byte) bool { return graph(b) || b == ' ' }, true
	case "punct":
		return func(b byte) bool { return graph(b) && !alnum(b) }, true
	case "space":
		return func(b byte) bool { return strings.IndexByte(" \t\n\v\f\r", b) >= 0 }, true
	case "xdigit":
		return func(b byte) bool { return digit(b) || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' }, true
	}
	return nil, false
}
