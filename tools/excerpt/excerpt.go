// Package excerpt bounds and cleans what of a text fits into the result of a call.
package excerpt

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what a model gets to see of one call, in bytes.
const (
	MaxContent = 64 << 10 // of the tools that read files
	MaxOutput  = 32 << 10 // of a command's output
)

// Valid replaces what is not UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// LooksBinary reports what git calls binary: a NUL among the first bytes.
func LooksBinary(b []byte) bool {
	const looked = 8000
	return bytes.IndexByte(b[:min(len(b), looked)], 0) >= 0
}

// Head cuts b to at most n bytes without cutting a rune in two.
func Head(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	cut := n
	for back := 0; back < utf8.UTFMax && cut > 0 && !utf8.RuneStart(b[cut]); back++ {
		cut--
	}
	if !utf8.RuneStart(b[cut]) {
		cut = n // not text at all
	}
	return b[:cut]
}

// Tail cuts b to at most its last n bytes without cutting a rune in two.
func Tail(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	cut := len(b) - n
	for on := 0; on < utf8.UTFMax && cut < len(b) && !utf8.RuneStart(b[cut]); on++ {
		cut++
	}
	return b[cut:]
}

// WholeRunes drops a rune that is cut at the end of b, unless nothing else is there.
func WholeRunes(b []byte) []byte {
	for i := len(b) - 1; i > 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// Name is a file's name as one line of text: what could be taken for something else is quoted.
func Name(name string) string {
	if strconv.Quote(name) == `"`+name+`"` {
		return name
	}
	return strconv.Quote(name)
}

func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// AddLine adds a line to a text.
func AddLine(text, line string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line
}
