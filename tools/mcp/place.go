package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode"
)

// kind is what a JSON value is.
type kind byte

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// node is a JSON value with its place.
type node struct {
	kind    kind
	offset  int64   // of its first byte, or of its name's, from 1
	name    string  // as a member of an object
	text    string  // of a text, a number or a boolean
	members []*node // of an object or an array
}

func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (n *node) member2(name, other string) *node {
	if m := n.member(name); m != nil {
		return m
	}
	return n.member(other)
}

// document is a JSON file with the places of its values.
type document struct {
	path string
	data []byte
	ends []int // where each line ends, its line end among it
	root *node
}

// maxDepth is deeper than any file of definitions.
const maxDepth = 32

// parseDocument reads a JSON text. It refuses a member that is named twice: readers disagree about
// which counts.
func parseDocument(path string, data []byte) (*document, error) {
	d := &document{path: path, data: data}
	for end := range data {
		if data[end] == '\n' {
			d.ends = append(d.ends, end+1)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	root, err := d.value(dec, "", 0)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = d.here(dec.InputOffset(), "something stands behind the end of the JSON text")
		}
	}
	d.root = root
	return d, err
}

func (d *document) value(dec *json.Decoder, name string, depth int) (*node, error) {
	n := &node{name: name, offset: d.next(dec)}
	t, err := dec.Token()
	if err != nil {
		return nil, d.syntax(dec, err)
	}
	if depth > maxDepth {
		return nil, d.at(n, "the JSON text is nested too deeply")
	}
	switch v := t.(type) {
	case nil:
		n.kind = null
	case bool:
		n.kind, n.text = boolean, fmt.Sprint(v)
	case json.Number:
		n.kind, n.text = number, v.String()
	case string:
		n.kind, n.text = text, v
	case json.Delim:
		n.kind = array
		if v == '{' {
			n.kind = object
		}
		err = d.fill(dec, n, depth)
	}
	return n, err
}

// fill reads what stands in an object or an array.
func (d *document) fill(dec *json.Decoder, n *node, depth int) error {
	names := map[string]bool{}
	for dec.More() {
		name, at := "", d.next(dec)
		if n.kind == object {
			t, err := dec.Token()
			if err != nil {
				return d.syntax(dec, err)
			}
			name, _ = t.(string) // the decoder admits nothing else as a name
			if names[name] {
				return d.here(at, fmt.Sprintf("%q stands here twice", name))
			}
			names[name] = true
		}
		m, err := d.value(dec, name, depth+1)
		if err != nil {
			return err
		}
		m.offset = at
		n.members = append(n.members, m)
	}
	_, err := dec.Token()
	if err != nil {
		return d.syntax(dec, err)
	}
	return nil
}

// next is where the next token begins.
func (d *document) next(dec *json.Decoder) int64 {
	at := dec.InputOffset()
	for at < int64(len(d.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), d.data[at]) >= 0 {
		at++
	}
	return at + 1
}

func (d *document) syntax(dec *json.Decoder, err error) error {
	at := dec.InputOffset()
	var s *json.SyntaxError
	if errors.As(err, &s) {
		at = s.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return d.here(int64(len(d.data)), "the JSON text ends in its middle")
	}
	return d.here(at, "the JSON text cannot be read: "+err.Error())
}

func (d *document) at(n *node, message string) *PlaceError { return d.here(n.offset, message) }

// here is an error at the byte before an offset.
func (d *document) here(offset int64, message string) *PlaceError {
	at := int(min(max(offset-1, 0), int64(len(d.data))))
	line := sort.SearchInts(d.ends, at+1)
	column := at + 1
	if line > 0 {
		column -= d.ends[line-1]
	}
	return &PlaceError{File: d.path, Line: line + 1, Column: column, Message: strings.Map(printable, message)}
}

// printable replaces what a terminal would obey: a workspace's file is anybody's.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
