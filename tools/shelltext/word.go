package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one word of a simple command.
type Word struct {
	Text    string // its value where it is literal; else what is known of its beginning
	Literal bool   // nothing in it is left to a shell
	// Tame is a word that is not literal and yet becomes only names that begin with Text, which is
	// no option.
	Tame bool
}

// Literal is the value of a word that needs no shell to be known.
func Literal(w *syntax.Word) (string, bool) {
	read := readWord(w)
	return read.Text, read.Literal
}

// reader evaluates a word as far as that needs no shell.
type reader struct {
	b       strings.Builder
	literal bool
	tame    bool // all that is not literal is a file pattern
	prefix  string
}

func readWord(w *syntax.Word) Word {
	if len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && l.Value == "[" {
			return Word{Text: "[", Literal: true} // the command; alone it begins no pattern
		}
	}
	r := reader{literal: true, tame: true}
	for i, p := range w.Parts {
		r.part(p, i == 0)
	}
	if r.literal {
		return Word{Text: r.b.String(), Literal: true}
	}
	return Word{Text: r.prefix, Tame: r.tame && r.prefix != "" && r.prefix[0] != '-'}
}

func (r *reader) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.bare(p.Value, first)
	case *syntax.SglQuoted:
		if p.Dollar {
			r.expands(false)
		}
		r.b.WriteString(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			r.expands(false)
		}
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				r.quoted(l.Value)
			} else {
				r.expands(false)
			}
		}
	default:
		r.expands(false)
	}
}

// expands notes that what follows is not known. A file pattern is tame.
func (r *reader) expands(tame bool) {
	if r.literal {
		r.prefix = r.b.String()
	}
	r.literal, r.tame = false, r.tame && tame
}

// bare reads text without quotes: a backslash keeps the next character, and what a shell would
// expand is not literal.
func (r *reader) bare(s string, first bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			if i++; s[i] != '\n' {
				r.b.WriteByte(s[i])
			}
		case c == '*' || c == '?' || c == '[':
			r.expands(true)
		case c == '~' && first && i == 0:
			if len(s) > 1 && s[1] == '/' {
				r.b.WriteByte('~') // a folder's name: no option
				r.expands(true)
				continue
			}
			r.expands(false)
		case c == '~' && (i == 0 || s[i-1] == '=' || s[i-1] == ':'):
			r.expands(false)
		case c == '{' && braces(s[i:]), c == '$' || c == '`' || c == '\\':
			r.expands(false)
		default:
			r.b.WriteByte(c)
		}
	}
}

// braces says whether a brace may begin an expansion in bash.
func braces(s string) bool {
	return strings.Contains(s, ",") || strings.Contains(s, "..") || len(s) == 1
}

// quoted reads text between double quotes, where a backslash keeps few characters.
func (r *reader) quoted(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		r.b.WriteByte(s[i])
	}
}
