package shelltext

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is parsed. The parser recurses with the nesting of its input.
const (
	maxText    = 64 << 10 // bytes
	maxNesting = 200
)

// Reading is what is known of a text.
type Reading struct {
	Normal   *Script   // its normal form; nil where it has none
	Why      string    // why it has none; "" where it has one
	Commands []Command // every simple command in it, wherever it stands
	Texts    []string  // quoted texts that hold a substitution: some programs and builtins carry it out
	Loose    string    // why no rule by command allows it, whatever its commands are; "" where one may
	Opaque   string    // why what it runs cannot all be seen; "" where it can
}

// Read reads a text as the shell will that is to run it: "bash", or sh, which may be any.
func Read(text, shell string) Reading {
	var all Reading
	for i, v := range variants(shell) {
		r := readAs(text, v)
		if i == 0 {
			all = r
			continue
		}
		all.join(r)
	}
	return all
}

// ForShell is the text that a shell is given for a text that was judged: the print of its normal
// form, so that what runs is what was read, or the text itself where it has none.
func ForShell(text, shell string) string {
	if r := Read(text, shell); r.Normal != nil {
		return r.Normal.Print()
	}
	return text
}

// Parse is the tree of a text in the first dialect of its shell in which it can be read; nil where
// there is none, and why.
func Parse(text, shell string) (f *syntax.File, why string) {
	for _, v := range variants(shell) {
		if f, why = parse(text, v); f != nil {
			break
		}
	}
	return f, why
}

// join adds what another dialect makes of the same text.
func (r *Reading) join(other Reading) {
	switch {
	case r.Normal == nil:
	case other.Normal == nil:
		r.Normal, r.Why = nil, other.Why
	case !reflect.DeepEqual(r.Normal, other.Normal):
		r.Normal, r.Why = nil, "sh and bash read it differently"
	}
	if !reflect.DeepEqual(r.Commands, other.Commands) {
		r.Commands = append(r.Commands, other.Commands...)
	}
	if !reflect.DeepEqual(r.Texts, other.Texts) {
		r.Texts = append(r.Texts, other.Texts...)
	}
	if r.Loose == "" {
		r.Loose = other.Loose
	}
	if r.Opaque == "" {
		r.Opaque = other.Opaque
	}
}

// variants are the dialects in which a text has to be read, by the shell that will run it.
func variants(shell string) []syntax.LangVariant {
	if shell == "bash" {
		return []syntax.LangVariant{syntax.LangBash}
	}
	return []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}
}

// readAs reads a text in one dialect.
func readAs(text string, lang syntax.LangVariant) (r Reading) {
	defer func() {
		if recover() != nil { // a tree that the parser made and its walk does not know
			r = unreadable("it cannot be parsed")
		}
	}()
	f, why := parse(text, lang)
	if why != "" {
		return unreadable(why)
	}
	w := walker{}
	syntax.Walk(f, w.visit)
	w.r.Normal, w.r.Why = normalOf(text, f)
	return w.r
}

// unreadable is what is known of a text that cannot be read.
func unreadable(why string) Reading { return Reading{Why: why, Loose: why, Opaque: why} }

// parse reads a text in one dialect, or returns why it cannot.
func parse(text string, lang syntax.LangVariant) (f *syntax.File, why string) {
	defer func() {
		if recover() != nil {
			f, why = nil, "it cannot be parsed"
		}
	}()
	if why := Strange(text); why != "" {
		return nil, why
	}
	f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, "it cannot be parsed: " + err.Error()
	}
	return f, ""
}

// Strange returns what keeps a text from being parsed at all, because the parser and a shell may
// read it differently; "" where nothing does.
func Strange(text string) string {
	if len(text) > maxText {
		return fmt.Sprintf("it is longer than %d KiB", maxText>>10)
	}
	if !utf8.ValidString(text) {
		return "it is not UTF-8"
	}

	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || blank(r) {
			return fmt.Sprintf("it holds the character U+%04X, which cannot be seen", r)
		}
	}
	if why := ambiguous(text); why != "" {
		return why
	}

	nesting := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "`")
	for _, word := range []string{"if", "while", "until", "for", "case", "do"} {
		nesting = max(nesting, strings.Count(text, word)/8)
	}
	if nesting > maxNesting {
		return "it is nested too deeply to be looked at"
	}
	return ""
}

// ambiguous returns what of a text the parser is known to read differently from shells; "" where
// there is nothing. It does not matter whether that is quoted: only the parser could say so.
func ambiguous(text string) string {
	for line := range strings.Lines(text) {
		cut, goesOn := strings.CutSuffix(strings.TrimSuffix(line, "\n"), `\`)
		switch {
		case !goesOn:
		case strings.Contains(line, "#"):
			return "one of its lines holds # and ends in a backslash"
		case cut != "" && strings.ContainsRune("$`<>&|(){};!=[", rune(cut[len(cut)-1])):
			return "one of its lines ends in a backslash behind " + cut[len(cut)-1:] // shells join lines before they look for tokens
		case strings.Contains(text, "<<-"):
			return "it holds <<- and a line that ends in a backslash" // which may join the end of the document
		}
	}

	switch {
	case strings.Contains(text, ")#"):
		return "it holds )#" // a comment behind a command, none behind a=()
	case strings.Contains(text, "\\\\`"):
		return "its backquotes stand within backquotes"
	}
	return ""
}

// blank reports whether a character counts as printable and shows nothing: fillers of Hangul, and
// the empty pattern of Braille.
func blank(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800:
		return true
	}
	return false
}
