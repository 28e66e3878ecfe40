package redact

import "strings"

// findPatterns finds what looks like a secret.
func findPatterns(name, text string, add func(from, to int, rule string)) {
	each(text, "://", func(at int) { findURLPasswords(text, at, add) })
	each(text, "PRIVATE KEY", func(at int) { findPEM(text, at, add) })
	if kindOf(name) != plain && len(text) >= leastKnown && !strings.ContainsAny(text, " \n") && !isReference(text) && !isPath(text) {
		add(0, len(text), "member")
	}
}

func each(text, word string, do func(at int)) {
	for at := 0; ; at += len(word) {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return
		}
		at += i
		do(at)
	}
}

// openPattern is where in the text a secret may begin of which the rest has not come: its end if nowhere.
func openPattern(text string) int { return openPEM(text) }
