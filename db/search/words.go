package search

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// maxWords is how many words and phrases are searched for at once.
const maxWords = 32

// ErrNoWords says that there is nothing to search for.
var ErrNoWords = errors.New("there is no word in it: a word has a letter or a digit")

// Expression is what a person types as FTS5 reads it: each word, and each phrase in double quotes,
// must occur, in any order and in any case; the last word may go on. All of it is quoted, so that
// nothing in it means anything to FTS5.
func Expression(text string) (string, error) {
	var parts []string
	text = strings.ReplaceAll(text, "\x00", " ") // where SQLite ends a text
	for text != "" {
		word, phrase, rest := next(text)
		if text = rest; !strings.ContainsFunc(word, searched) {
			continue // such as a dash: no text has it in the index
		}
		quoted := `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
		if !phrase && !strings.ContainsFunc(text, searched) {
			quoted += "*"
		}
		parts = append(parts, quoted)
	}
	switch {
	case len(parts) == 0:
		return "", ErrNoWords
	case len(parts) > maxWords:
		return "", fmt.Errorf("these are %d words; at most %d are searched for at once", len(parts), maxWords)
	}
	return strings.Join(parts, " "), nil
}

// next takes a word or a phrase from the front of a text. A phrase that is not closed goes to the
// end.
func next(text string) (word string, phrase bool, rest string) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if inside, ok := strings.CutPrefix(text, `"`); ok {
		word, rest, _ = strings.Cut(inside, `"`)
		return word, true, rest
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		return text, false, ""
	}
	return text[:end], false, text[end:]
}

// searched says whether a character is part of a word in the index.
func searched(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.Co) }
