package anthropic

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// appendString writes s as a JSON string. Only what must be escaped is; bytes that are no UTF-8
// become U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[from:i]...)
				b = utf8.AppendRune(b, utf8.RuneError)
				from = i + 1
			}
			i += size
			continue
		}
		i++
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i-1]...)
		from = i
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// appendObject writes a call's arguments as the object that the API wants. What is no object, such
// as the text of arguments that were no JSON, becomes one.
func appendObject(b []byte, args json.RawMessage) []byte {
	value, ok := canonical(args)
	switch {
	case !ok && len(bytes.TrimSpace(args)) == 0:
		return append(b, '{', '}')
	case !ok:
		b = append(b, `{"arguments":`...)
		return append(appendString(b, string(args)), '}')
	case value[0] != '{':
		b = append(b, `{"arguments":`...)
		return append(append(b, value...), '}')
	}
	return append(b, value...)
}

// canonical spells JSON in the one way that does not depend on whether it has been written to the
// journal since: without white space, and without escapes that an encoder may or may not choose.
// Members keep their order and numbers their digits. Half a surrogate pair, which the API refuses,
// becomes U+FFFD. It reports false for what is no JSON.
func canonical(raw []byte) ([]byte, bool) {
	var c bytes.Buffer
	if err := json.Compact(&c, raw); err != nil || c.Len() == 0 {
		return nil, false
	}
	b := c.Bytes()
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	if !bytes.Contains(b, []byte(`\u`)) {
		return b, true
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			out = append(out, b[i])
			i++
			continue
		}
		n := 2 // an escape of one character
		if b[i+1] == 'u' {
			n = 6
			r := unescape(b[i:])
			switch {
			case utf16.IsSurrogate(r):
				if pair := utf16.DecodeRune(r, unescape(b[i+6:])); pair != utf8.RuneError {
					n = 12
				} else {
					out = append(out, `\ufffd`...)
					i += n
					continue
				}
			case strings.ContainsRune("<>&\u2028\u2029", r):
				out = utf8.AppendRune(out, r)
				i += n
				continue
			}
		}
		out = append(out, b[i:i+n]...)
		i += n
	}
	return out, true
}

// unescape reads the code unit of an escape such as \u003c; utf8.RuneError when b does not begin
// with one.
func unescape(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// blank says that a text has nothing that the API takes for content.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// toolName makes a name that the API takes back. A name of its own is never changed; one that
// another provider's model made up may be.
func toolName(s string) string {
	fits := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}
	s = strings.Map(fits, s)
	if s == "" {
		return "unknown"
	}
	return s[:min(len(s), 128)]
}
