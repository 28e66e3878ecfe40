package mcp

import (
	"strings"
	"unicode"
)

// clean takes out of a server's text what a terminal would obey and what nobody sees: control
// characters but newline and tab, and characters without a glyph, in which words for a model alone
// could stand.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar, r >= 0xE0100 && r <= 0xE01EF,
			r == 0x2028, r == 0x2029, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// brief is a text as one short line.
func brief(s string, runes int) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	if r := []rune(s); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return s
}

// cut bounds a text and says so.
func cut(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	return strings.ToValidUTF8(s[:bytes], "") + " […]"
}
