package stream

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHidden bounds how much of a text a control string without an end may take with it.
const maxHidden = 64 << 10

// Sanitize makes a text of a model or a tool safe to show on a terminal: it takes out every control
// sequence, every control character but newline and tab, and what is invisible or changes the
// direction of writing. The two joiners stay: Persian, the scripts of India and families of emoji
// are written with them. A carriage return becomes a newline, so that nothing is written over. What
// is not UTF-8 shows as U+FFFD.
func Sanitize(text string) string {
	if plain(text) == len(text) {
		return text // which is the usual case
	}
	var c cleaner
	out := c.clean(make([]byte, 0, len(text)), []byte(text))
	return string(c.end(out))
}

// plain is how many bytes from the front on are text with which nothing has to be done.
func plain[T string | []byte](text T) int {
	for i := range len(text) {
		if b := text[i]; b >= utf8.RuneSelf || b == 0x7f || b < ' ' && b != '\n' && b != '\t' {
			return i
		}
	}
	return len(text)
}

// Visible shows what Sanitize takes out: each such character as its number. It is for what a person
// must see whole before a yes, such as a command.
func Visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] != 0xEF: // not the character itself, which begins with this byte
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t' || !control(r) && !invisible(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// The joiners: they decide how the characters beside them are drawn.
const (
	zeroWidthNonJoiner = 0x200c
	zeroWidthJoiner    = 0x200d
)

func joiner(r rune) bool { return r == zeroWidthNonJoiner || r == zeroWidthJoiner }

func control(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// invisible reports what takes no room and carries no glyph: zero-width characters, marks of
// direction, tags, and the separators that only some terminals break at.
func invisible(r rune) bool {
	switch {
	case r < 0xa0:
		return false
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	case r >= 0xE0100 && r <= 0xE01EF: // variation selectors that no font knows
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0x034F || r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0
}

// Sanitizer is Sanitize for a text that comes in pieces, wherever they are cut. One goroutine uses
// it.
type Sanitizer struct {
	to  io.Writer
	c   cleaner
	buf []byte
}

// NewSanitizer writes what is left of the pieces to w.
func NewSanitizer(w io.Writer) *Sanitizer { return &Sanitizer{to: w} }

// Write takes a piece. The error is the underlying writer's; the piece counts as taken all the
// same.
func (s *Sanitizer) Write(p []byte) (int, error) {
	s.buf = s.c.clean(s.buf[:0], p)
	if len(s.buf) > 0 {
		if _, err := s.to.Write(s.buf); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

// End writes what stands for a character that was never finished.
func (s *Sanitizer) End() error {
	if rest := s.c.end(nil); len(rest) > 0 {
		_, err := s.to.Write(rest)
		return err
	}
	return nil
}

// cleaner is the automaton behind both. Its zero value is at the beginning of a text.
type cleaner struct {
	state   state
	hidden  int // bytes that the present control sequence has taken
	wasCR   bool
	part    [utf8.UTFMax]byte // the beginning of a character that is not whole yet
	partLen int
}

type state byte

const (
	inText   state = iota
	inEscape       // after ESC
	inCSI          // after ESC [
	inString       // after ESC ] and its like: up to its end
	inQuit         // in a string, after the ESC that may end it
)

func (c *cleaner) clean(dst, p []byte) []byte {
	for len(p) > 0 {
		if c.partLen > 0 {
			var done bool
			if dst, p, done = c.complete(dst, p); !done {
				return dst
			}
			continue
		}
		if c.state == inText && !c.wasCR {
			if n := plain(p); n > 0 {
				dst, p = append(dst, p[:n]...), p[n:]
				continue
			}
		}
		if !utf8.FullRune(p) {
			c.partLen = copy(c.part[:], p)
			return dst
		}
		r, n := utf8.DecodeRune(p)
		dst = c.take(dst, r)
		p = p[n:]
	}
	return dst
}

// complete adds bytes to an unfinished character until it is one, or is none.
func (c *cleaner) complete(dst, p []byte) ([]byte, []byte, bool) {
	for !utf8.FullRune(c.part[:c.partLen]) {
		if len(p) == 0 {
			return dst, nil, false
		}
		c.part[c.partLen] = p[0]
		c.partLen++
		p = p[1:]
	}
	whole := c.part // a copy: what follows may leave a part again
	end := c.partLen
	c.partLen = 0
	r, n := utf8.DecodeRune(whole[:end])
	dst = c.take(dst, r)
	// Bytes behind a broken beginning are read again; at most three of them.
	return c.clean(dst, whole[n:end]), p, true
}

// end closes the text.
func (c *cleaner) end(dst []byte) []byte {
	n := c.partLen
	c.partLen = 0
	for range n {
		dst = c.take(dst, utf8.RuneError)
	}
	return dst
}

// take moves the automaton by one character and keeps the character if it is text.
func (c *cleaner) take(dst []byte, r rune) []byte {
	if c.state != inText {
		c.hidden++
		again := c.sequence(r)
		if !again {
			return dst
		}
	}
	wasCR := c.wasCR
	c.wasCR = r == '\r'
	switch {
	case r == '\r' && wasCR, r == '\n' && wasCR:
		return dst // the newline was written for the first carriage return
	case r == '\r', r == 0x2028, r == 0x2029:
		return append(dst, '\n')
	case r == '\n', r == '\t':
		return append(dst, byte(r))
	case r == 0x1b:
		c.state, c.hidden = inEscape, 0
	case r == 0x9b:
		c.state, c.hidden = inCSI, 0
	case r == 0x90, r == 0x98, r >= 0x9d && r <= 0x9f:
		c.state, c.hidden = inString, 0
	case control(r), invisible(r) && !joiner(r):
	default:
		return utf8.AppendRune(dst, r)
	}
	return dst
}

// sequence takes a character inside a control sequence. It reports true when the sequence is over
// without it.
func (c *cleaner) sequence(r rune) bool {
	switch c.state {
	case inEscape:
		return c.escape(r)
	case inCSI:
		if r >= 0x20 && r < 0x40 && c.hidden <= maxHidden {
			return false
		}
		c.state = inText
		return r < 0x40 || r > 0x7e
	case inQuit:
		if r == '\\' {
			c.state = inText
			return false
		}
		c.state = inEscape // the string is over, and this ESC begins the next sequence
		return c.escape(r)
	}
	switch {
	case r == 0x1b:
		c.state = inQuit
	case r == 0x07, r == 0x9c, r == 0x18, r == 0x1a:
		c.state = inText
	case r == '\n', r == '\r', c.hidden > maxHidden:
		c.state = inText
		return true
	}
	return false
}

func (c *cleaner) escape(r rune) bool {
	switch {
	case r == '[':
		c.state = inCSI
	case r == ']', r == 'P', r == 'X', r == '^', r == '_':
		c.state = inString
	case r >= 0x20 && r < 0x30 && c.hidden <= maxHidden:
	default:
		c.state = inText
		return r < 0x30 || r > 0x7e
	}
	return false
}
