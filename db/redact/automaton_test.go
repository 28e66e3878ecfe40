package redact

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The automaton finds what looking for every word at every place finds, words within words included.
func TestAutomatonFindsEveryWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab_]{1,5}`), 1, 12, rapid.ID[string]).Draw(t, "words")
		text := rapid.StringMatching(`[abAB_x]{0,40}`).Draw(t, "text")
		a := newAutomaton(words)
		want, got := map[string]bool{}, map[string]bool{}
		low := strings.ToLower(text)
		for end := range len(low) + 1 {
			for n, w := range words {
				if strings.HasSuffix(low[:end], w) {
					want[fmt.Sprint(n, end)] = true
				}
			}
		}
		a.each(text, func(word uint16, end int) { got[fmt.Sprint(word, end)] = true })
		if fmt.Sprint(got) != fmt.Sprint(want) || a.has(text) != (len(want) > 0) {
			t.Fatalf("%q in %q: got %v, want %v", words, text, got, want)
		}
	})
}
