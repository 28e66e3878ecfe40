package redact

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as it reads once it is decoded, and where each byte of it comes from.
type view struct {
	text   string
	units  []unit
	parent *view // what it was decoded from; nil is the text itself
}

// unit is a piece that was decoded: n bytes at at, from m bytes at raw.
type unit struct{ at, n, raw, m int }

// origin gives the place in the text itself of view bytes [from, to). A piece of which one byte is
// meant is meant whole.
func (v *view) origin(from, to int) (int, int) {
	for ; v != nil; v = v.parent {
		from, _ = v.source(from)
		_, to = v.source(to - 1)
	}
	return from, to
}

// source gives where the byte at i comes from.
func (v *view) source(i int) (from, to int) {
	k := sort.Search(len(v.units), func(k int) bool { return v.units[k].at > i }) - 1
	if k < 0 {
		return i, i + 1
	}
	u := v.units[k]
	if i < u.at+u.n {
		return u.raw, u.raw + u.m
	}
	from = u.raw + u.m + i - u.at - u.n
	return from, from + 1
}

// decode replaces every piece that one finds: one looks at the text from a lead byte on and gives
// what it stands for and its length, 0 if it stands for itself. It gives nil where there is nothing
// to decode.
func decode(parent *view, text string, lead byte, one func(string) (string, int)) *view {
	var b strings.Builder
	var units []unit
	done := 0
	for at := 0; ; {
		i := strings.IndexByte(text[at:], lead)
		if i < 0 {
			break
		}
		at += i
		value, m := one(text[at:])
		if m == 0 {
			at++
			continue
		}
		if units == nil {
			b.Grow(len(text))
		}
		b.WriteString(text[done:at])
		units = append(units, unit{at: b.Len(), n: len(value), raw: at, m: m})
		b.WriteString(value)
		at += m
		done = at
	}
	if units == nil {
		return nil
	}
	b.WriteString(text[done:])
	return &view{text: b.String(), units: units, parent: parent}
}

// unescape decodes what JSON (RFC 8259, section 7) and most languages escape by a backslash.
func unescape(parent *view, text string) *view { return decode(parent, text, '\\', backslash) }

func backslash(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	switch c := s[1]; c {
	case '"', '\'', '\\', '/', '`':
		return s[1:2], 2
	case 'n':
		return "\n", 2
	case 't':
		return "\t", 2
	case 'r':
		return "\r", 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	case 'x':
		if b, ok := hexValue(s, 2, 4); ok {
			return string([]byte{byte(b)}), 4
		}
	case 'u':
		return unicodeEscape(s)
	}
	return "", 0
}

// unicodeEscape decodes \uXXXX and pairs of them. Half a pair reads as U+FFFD, as in encoding/json.
func unicodeEscape(s string) (string, int) {
	high, ok := hexValue(s, 2, 6)
	if !ok {
		return "", 0
	}
	if !utf16.IsSurrogate(high) {
		return string(high), 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if low, ok := hexValue(s, 8, 12); ok {
			if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
				return string(r), 12
			}
		}
	}
	return string(utf8.RuneError), 6
}

func hexValue(s string, from, to int) (rune, bool) {
	if len(s) < to {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[from:to]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unpercent decodes %XX (RFC 3986, section 2.1). A + that stands for a blank is passed over by the
// search itself.
func unpercent(parent *view, text string) *view {
	return decode(parent, text, '%', func(s string) (string, int) {
		b, ok := hexValue(s, 1, 3)
		if !ok {
			return "", 0
		}
		return string([]byte{byte(b)}), 3
	})
}

// unentity decodes the character references that HTML and XML need, and those by number, which may
// stand for any character: Go's templates write a + so.
func unentity(parent *view, text string) *view {
	return decode(parent, text, '&', func(s string) (string, int) {
		end := strings.IndexByte(s[:min(len(s), len("&#x10FFFF;"))], ';')
		if end < 0 {
			return "", 0
		}
		switch name := s[1:end]; name {
		case "amp":
			return "&", end + 1
		case "lt":
			return "<", end + 1
		case "gt":
			return ">", end + 1
		case "quot":
			return `"`, end + 1
		case "apos":
			return "'", end + 1
		default:
			if r, ok := numbered(name); ok {
				return string(r), end + 1
			}
		}
		return "", 0
	})
}

// numbered is the character of a reference such as #43 or #x2B.
func numbered(name string) (rune, bool) {
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	return rune(n), err == nil && n > 0 && utf8.ValidRune(rune(n))
}
