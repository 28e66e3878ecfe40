package body

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
)

// walk goes through JSON that is known to be some, for what its parser takes in silence: a name
// that stands twice in an object, of which the last would count, and half of a surrogate pair,
// which is no character.
type walk struct {
	text []byte
	at   int
}

// value goes through one value; in is how an error calls it.
func (w *walk) value(in string) error {
	w.space()
	switch w.text[w.at] {
	case '{':
		return w.object(in)
	case '[':
		return w.list(in)
	case '"':
		return w.quoted(in)
	}
	for w.at < len(w.text) && !ends(w.text[w.at]) {
		w.at++
	}
	return nil
}

func ends(c byte) bool { return c == ',' || c == '}' || c == ']' || c <= ' ' }

func (w *walk) space() {
	for w.at < len(w.text) && w.text[w.at] <= ' ' {
		w.at++
	}
}

func (w *walk) object(in string) error {
	seen := map[string]bool{}
	for w.at++; ; w.at++ { // behind the bracket, then behind each comma
		if w.space(); w.text[w.at] == '}' {
			break
		}
		began, name := w.at, ""
		if err := w.quoted("a name"); err != nil {
			return err
		}
		if err := json.Unmarshal(w.text[began:w.at], &name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("the field %q stands twice", name)
		}
		seen[name] = true
		w.space()
		w.at++ // behind the colon
		if err := w.value("the field " + strconv.Quote(name)); err != nil {
			return err
		}
		if w.space(); w.text[w.at] == '}' {
			break
		}
	}
	w.at++
	return nil
}

func (w *walk) list(in string) error {
	for w.at++; ; w.at++ {
		if w.space(); w.text[w.at] == ']' {
			break
		}
		if err := w.value(in); err != nil {
			return err
		}
		if w.space(); w.text[w.at] == ']' {
			break
		}
	}
	w.at++
	return nil
}

// quoted goes through a text.
func (w *walk) quoted(in string) error {
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] != '\\' {
			continue
		}
		w.at++
		if w.text[w.at] != 'u' {
			continue
		}
		if first := w.unit(w.at + 1); utf16.IsSurrogate(first) {
			if w.text[w.at+5] != '\\' || w.text[w.at+6] != 'u' || utf16.DecodeRune(first, w.unit(w.at+7)) == '\uFFFD' {
				return fmt.Errorf("%s has half of a character at byte %d: \\u%s", in, w.at, w.text[w.at+1:w.at+5])
			}
			w.at += 6
		}
	}
	w.at++
	return nil
}

// unit is the number that four digits at a place stand for; 0 where there are none.
func (w *walk) unit(at int) rune {
	n, err := strconv.ParseUint(string(w.text[at:min(at+4, len(w.text))]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
