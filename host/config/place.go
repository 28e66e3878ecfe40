package config

import (
	"bytes"
	"fmt"
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
	at    map[string]place // by the parts of the key, joined with a zero byte
	rules rulePlaces

	single [][]string // tables where rules want a list
}

type place struct{ line, column int }

// newDocument finds the keys of a text. What does not parse is left to the decoder to refuse.
func newDocument(file string, text []byte) *document {
	d := &document{file: file, at: map[string]place{}}
	for l := range bytes.Lines(text) {
		d.lines = append(d.lines, strings.TrimRight(string(l), "\r\n"))
	}
	var p unstable.Parser
	p.Reset(text)
	var table []string
	var rule map[string]place
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = d.note(&p, nil, e)
			rule = d.begin(&p, table, e)
		case unstable.KeyValue:
			noteKey(&p, rule, e)
			d.pair(&p, table, e)
		}
	}
	return d
}

func (d *document) pair(p *unstable.Parser, table []string, e *unstable.Node) {
	path := d.note(p, table, e)
	value := e.Value()
	if value.Kind != unstable.InlineTable {
		return
	}
	for it := value.Children(); it.Next(); {
		d.pair(p, path, it.Node())
	}
}

// note keeps where a key, and every part of it, is seen first.
func (d *document) note(p *unstable.Parser, table []string, e *unstable.Node) []string {
	path := append([]string{}, table...)
	for it := e.Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
		name := strings.Join(path, "\x00")
		if _, ok := d.at[name]; !ok {
			start := p.Shape(it.Node().Raw).Start
			d.at[name] = place{start.Line, start.Column}
		}
	}
	return path
}

// wrong is an error at a key; the nearest table above it stands in for a key that is not there.
func (d *document) wrong(path []string, format string, args ...any) *Error {
	for n := len(path); n > 0; n-- {
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
