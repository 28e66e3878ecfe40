package permission

import (
	"fmt"
	"slices"
	"strings"

	"agent/tools/shelltext"
)

const (
	number    = "{number}" // a word of a rule's text that means any digits
	maxDigits = 19
	maxText   = 1000 // bytes of a rule's text
)

// textPattern is a rule's text: a script in normal form, some words of which may be other digits.
type textPattern struct {
	script shelltext.Script
	hole   string // the word in place of digits; no other word is like it
}

// parseText reads the text of a rule. The error is why no call can be named by it.
func parseText(text string) (textPattern, error) {
	hole := strangeTo(text)
	r := shelltext.Read(withHoles(text, hole), "sh")
	if r.Normal == nil {
		return textPattern{}, fmt.Errorf("no rule can name it: %s", r.Why)
	}

	// Within a longer word, in quotes, it was meant literally.
	for _, p := range *r.Normal {
		for _, c := range p.Commands {
			for i, w := range c.Words {
				if w != hole {
					c.Words[i] = strings.ReplaceAll(w, hole, number)
				}
			}
		}
	}
	return textPattern{*r.Normal, hole}, nil
}

// strangeTo is a word that no quotes can make of what is in a text: a letter that it does not hold.
func strangeTo(text string) string {
	letter := '\u4e00'
	for strings.ContainsRune(text, letter) {
		letter++ // a text of maxText bytes does not hold the 20,000 letters that follow
	}
	return string(letter)
}

// withHoles is the text with hole in place of each number that has blanks, or what joins commands,
// on both sides.
func withHoles(text, hole string) string {
	const apart = " \t\n;&|"
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, number)
		b.WriteString(before)
		if !found {
			return b.String()
		}

		begins := b.Len() == 0 || strings.IndexByte(apart, b.String()[b.Len()-1]) >= 0
		ends := after == "" || strings.IndexByte(apart, after[0]) >= 0
		if begins && ends {
			b.WriteString(hole)
		} else {
			b.WriteString(number)
		}
		text = after
	}
}

// covers reports whether a script is that of the text.
func (p textPattern) covers(s shelltext.Script) bool {
	return slices.EqualFunc(p.script, s, func(a, b shelltext.Pipeline) bool {
		return a.Join == b.Join && slices.EqualFunc(a.Commands, b.Commands, func(a, b shelltext.Simple) bool {
			return slices.Equal(a.Redirects, b.Redirects) && slices.EqualFunc(a.Words, b.Words, func(a, b string) bool {
				return a == b || a == p.hole && digits(b)
			})
		})
	})
}

// digits reports whether a word is one that number covers.
func digits(w string) bool {
	return w != "" && len(w) <= maxDigits && strings.Trim(w, "0123456789") == ""
}

// shortened is a text in one line, of at most so many characters.
func shortened(text string, most int) string {
	out := []rune(strings.Join(strings.Fields(text), " "))
	if len(out) > most {
		out = append(out[:most-1], '…')
	}
	return string(out)
}
