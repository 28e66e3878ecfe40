// Package jsonstring reads one string of JSON from the front of a text: the part of JSON in which
// answers of models and facts of a journal mostly consist. encoding/json reads the rest, and gives
// the same for every string that this package reads.
package jsonstring

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

// Read reads the JSON string that data begins with, and returns what follows it. False means that
// there is none.
func Read(data []byte) (s string, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return "", nil, false
	}
	end, escaped := Close(data)
	if end < 0 {
		return "", nil, false
	}
	inside := data[1:end]
	seen := printable(inside)
	for _, c := range inside[seen:] {
		if c < ' ' {
			return "", nil, false
		}
	}
	rest = data[end+1:]
	switch {
	case !utf8.Valid(inside[seen:]):
	case !escaped:
		return string(inside), rest, true
	default:
		if s, ok := unescape(inside); ok {
			return s, rest, true
		}
	}
	err := json.Unmarshal(data[:end+1], &s)
	return s, rest, err == nil
}

// printable is how many bytes from the front on are ASCII and no control character, eight at a
// time.
func printable(b []byte) (n int) {
	const each, high = 0x0101010101010101, 0x80
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		if (x|(x-' '*each))&(high*each) != 0 {
			break // a byte is above 127, or below the blank, which borrows
		}
	}
	return n
}

// Close finds the quote that ends the string which b begins with: its place, -1 where there is
// none, and whether an escape is before it.
func Close(b []byte) (end int, escaped bool) {
	for i, quote := 1, 0; ; {
		if quote < i {
			n := bytes.IndexByte(b[i:], '"')
			if n < 0 {
				return -1, escaped
			}
			quote = i + n
		}
		slash := bytes.IndexByte(b[i:quote], '\\')
		if slash < 0 {
			return quote, escaped
		}
		escaped = true
		if i += slash + 2; i > len(b) {
			return -1, true
		}
	}
}

// unescape replaces the short escapes; false where there are others.
func unescape(inside []byte) (string, bool) {
	out := make([]byte, 0, len(inside))
	for {
		n := bytes.IndexByte(inside, '\\')
		if n < 0 {
			return string(append(out, inside...)), true
		}
		out = append(out, inside[:n]...)
		switch inside[n+1] { // Close saw a byte behind every backslash
		case '"', '\\', '/':
			out = append(out, inside[n+1])
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		default:
			return "", false
		}
		inside = inside[n+2:]
	}
}
