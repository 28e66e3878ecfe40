package redact

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// The automaton finds what looking for every word at every place finds, words within words
// included.
func TestAutomatonFindsEveryWord(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab_]{2,5}`), 1, 12, rapid.ID[string]).Draw(t, "words")
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
		a.each(text, func(word uint16, end int) bool {
			got[fmt.Sprint(word, end)] = true
			return false
		})
		if fmt.Sprint(got) != fmt.Sprint(want) || a.has(text) != (len(want) > 0) {
			t.Fatalf("%q in %q: got %v, want %v", words, text, got, want)
		}
	})
}

// A text that grows, is forgotten from its beginning, and is now and then shown without its end,
// has the words that going over all of it finds, in the same order.
func TestSeenWordsAreThoseOfTheWhole(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab_]{2,5}`), 1, 12, rapid.ID[string]).Draw(t, "words")
		p := &patterns{words: newAutomaton(words)}
		for _, w := range words {
			p.sizes = append(p.sizes, len(w))
		}
		var known seen
		text := ""
		for range rapid.IntRange(1, 12).Draw(t, "pieces") {
			text += rapid.StringMatching(`[abAB_x]{0,9}`).Draw(t, "piece")
			shown := text[:len(text)-rapid.IntRange(0, min(3, len(text))).Draw(t, "held")]
			var want, got []string
			p.words.each(shown, func(word uint16, end int) bool {
				want = append(want, fmt.Sprint(word, end))
				return false
			})
			known.each(p, shown, func(word uint16, end int) { got = append(got, fmt.Sprint(word, end)) })
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q in %q: got %v, want %v", words, shown, got, want)
			}
			n := rapid.IntRange(0, len(text)).Draw(t, "forgotten")
			text = text[n:]
			known.drop(n)
		}
	})
}
