package redact

import (
	"bytes"
	"strings"
)

const (
	opening = "[secret:"
	maxRule = 96 // bytes of a rule's name
	maxID   = 64 // bytes of an id

	// literalRule is for text that looks like a placeholder and is none.
	literalRule = "literal"
)

func placeholder(s Secret) string { return opening + s.Rule + ":" + s.ID + "]" }

// parsePlaceholder reads the placeholder at the start of a text: its id, and its length, which is 0
// where there is none.
func parsePlaceholder(text string) (id string, n int) {
	rest, ok := strings.CutPrefix(text, opening)
	if !ok {
		return "", 0
	}
	rule := span(rest, maxRule+1, ruleByte)
	if rule == 0 || rule > maxRule || rule == len(rest) || rest[rule] != ':' {
		return "", 0
	}
	rest = rest[rule+1:]
	size := span(rest, maxID+1, idByte)
	if size == 0 || size > maxID || size == len(rest) || rest[size] != ']' {
		return "", 0
	}
	return rest[:size], len(opening) + rule + 1 + size + 1
}

// span counts the leading bytes that fit, up to a limit.
func span(text string, limit int, fits func(byte) bool) int {
	n := 0
	for n < len(text) && n < limit && fits(text[n]) {
		n++
	}
	return n
}

func ruleByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '-' }

func idByte(b byte) bool { return ruleByte(b) || b >= 'A' && b <= 'Z' || b == '_' }

// ruleName makes a rule's name fit for a placeholder.
func ruleName(name string) string { return fit(strings.ToLower(name), maxRule, ruleByte) }

// idOf makes an id fit for a placeholder. An id that had to be changed is not found again by
// whoever gave it: the secret is gone then, and not shown.
func idOf(id string) string { return fit(id, maxID, idByte) }

func fit(name string, limit int, fits func(byte) bool) string {
	if name == "" {
		return "0"
	}
	b := []byte(name[:min(len(name), limit)])
	for i := range b {
		if !fits(b[i]) {
			b[i] = '-'
		}
	}
	return string(b)
}

// findLiterals finds text that looks like a placeholder. It is sealed as a secret is, so that what
// a page or a model writes is never taken for a placeholder when values are put back.
func findLiterals(text string, add func(from, to int, rule string)) {
	for at := 0; ; {
		i := strings.Index(text[at:], opening)
		if i < 0 {
			return
		}
		at += i
		_, n := parsePlaceholder(text[at:])
		if n == 0 {
			n = len(opening)
		} else {
			add(at, at+n, literalRule)
		}
		at += n
	}
}

// Restore puts the values back into what Text or JSON gave. Open tells what an id stands for. What
// is put in is not looked at again. Missing are the ids that open did not know, each once: their
// placeholders stay.
func Restore(data []byte, open func(id string) ([]byte, bool)) (out []byte, missing []string) {
	seen := map[string]bool{}
	done := 0
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(opening))
		if i < 0 {
			break
		}
		at += i
		end := min(len(data), at+len(opening)+maxRule+maxID+2)
		id, n := parsePlaceholder(string(data[at:end]))
		if n == 0 {
			at += len(opening)
			continue
		}
		if value, ok := open(id); ok {
			out = append(append(out, data[done:at]...), value...)
			done = at + n
		} else if !seen[id] {
			seen[id] = true
			missing = append(missing, id)
		}
		at += n
	}
	if done == 0 {
		return data, missing
	}
	return append(out, data[done:]...), missing
}
