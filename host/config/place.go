package config

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Error is something wrong at a place in a file.
type Error struct {
	File    string
	Line    int // from 1
	Column  int // from 1, in bytes
	Message string
	Source  string // the line; "" where it may hold a secret
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	if e.Source == "" {
		return text
	}
	number := fmt.Sprintf("%6d", e.Line)
	// Tabs stay as they are, so that the mark stands below its place.
	before := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Source[:min(e.Column-1, len(e.Source))])
	return fmt.Sprintf("%s\n%s | %s\n%s | %s^", text, number, e.Source, strings.Repeat(" ", len(number)), before)
}

// document is a file with the places of its keys.
type document struct {
	file  string
	lines []string
	ends  []int            // where each line ends, in bytes from the beginning of the text, its line end among them
	at    map[string]place // by the parts of the key, joined with a zero byte
	rules rulePlaces

	single [][]string // tables where rules want a list

	known     func(path []string) bool // whether a key may stand in the file
	strange   []string                 // the first part of it that may not, of each key that may not stand here; the first manyStrange
	strangers int                      // how many there are
}

// deepest is how many parts of a key are looked at; no key that may stand in a file has more.
const deepest = 4

// manyStrange is how many keys that may not stand in a file are reported one by one. The decoder
// needs for each a time that grows with the file, and anybody can write the file of a workspace.
const manyStrange = 40

type place struct{ line, column int }

// newDocument finds the keys of a text. What does not parse is left to the decoder to refuse.
func newDocument(file string, text []byte, known func(path []string) bool) *document {
	d := &document{file: file, at: map[string]place{}, known: known}
	for l := range bytes.Lines(text) {
		d.lines = append(d.lines, strings.TrimRight(string(l), "\r\n"))
		end := len(l)
		if n := len(d.ends); n > 0 {
			end += d.ends[n-1]
		}
		d.ends = append(d.ends, end)
	}
	var p unstable.Parser
	p.Reset(text)
	var table []string
	var rule map[string]place
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = d.note(nil, e)
			rule = d.begin(table, e)
		case unstable.KeyValue:
			d.noteKey(rule, e)
			d.pair(table, e)
		}
	}
	return d
}

func (d *document) pair(table []string, e *unstable.Node) {
	d.value(d.note(table, e), e.Value())
}

// value looks at the keys in an inline table, and in those of a list.
func (d *document) value(path []string, value *unstable.Node) {
	if value.Kind != unstable.InlineTable && value.Kind != unstable.Array {
		return
	}
	for it := value.Children(); it.Next(); {
		if value.Kind == unstable.Array {
			d.value(path, it.Node())
			continue
		}
		d.pair(path, it.Node())
	}
}

// note keeps where a key, and every part of it, is seen first.
func (d *document) note(table []string, e *unstable.Node) []string {
	path := append([]string{}, table...)
	strange := false
	for it := e.Key(); it.Next() && len(path) < deepest; {
		path = append(path, string(it.Node().Data))
		name := strings.Join(path, "\x00")
		if _, ok := d.at[name]; !ok {
			d.at[name] = d.start(it.Node())
		}
		if !strange && !d.known(path) {
			strange = true
			d.stranger(name)
		}
	}
	return path
}

func (d *document) stranger(name string) {
	if d.strangers++; len(d.strange) < manyStrange && !slices.Contains(d.strange, name) {
		d.strange = append(d.strange, name)
	}
}

// start is where a key begins. The parser would tell too, by counting lines from the beginning of
// the text for each key.
func (d *document) start(n *unstable.Node) place {
	offset := int(n.Raw.Offset)
	line := sort.SearchInts(d.ends, offset+1)
	if line > 0 {
		offset -= d.ends[line-1]
	}
	return place{line + 1, offset + 1}
}

// wrong is an error at a key; the nearest table above it stands in for a key that is not there.
func (d *document) wrong(path []string, format string, args ...any) *Error {
	for n := min(len(path), deepest); n > 0; n-- {
		if at, ok := d.at[strings.Join(path[:n], "\x00")]; ok {
			return d.errorAt(at, fmt.Sprintf(format, args...))
		}
	}
	return d.errorAt(place{1, 1}, fmt.Sprintf(format, args...))
}

// secret is wrong without the line, which may hold a key.
func (d *document) secret(path []string, format string, args ...any) *Error {
	e := d.wrong(path, format, args...)
	e.Source = ""
	return e
}

func (d *document) errorAt(at place, message string) *Error {
	e := &Error{File: d.file, Line: at.line, Column: at.column, Message: message}
	if at.line >= 1 && at.line <= len(d.lines) {
		e.Source = strings.Map(visible, d.lines[at.line-1])
	}
	return e
}

// visible replaces what a terminal would obey: a workspace's file is anybody's.
func visible(r rune) rune {
	if r == '\t' || unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// dotted writes a key as it may stand in a file.
func dotted(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = p
		if strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || p == "" {
			parts[i] = fmt.Sprintf("%q", p)
		}
	}
	return strings.Join(parts, ".")
}
