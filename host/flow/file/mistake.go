package file

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// place is where something stands in the file: line and column from 1, the column in bytes.
type place struct{ line, column int }

// Mistake is one thing that is wrong with a file, and how to fix it.
type Mistake struct {
	Line   int    `json:"line"`
	Column int    `json:"column"` // in bytes, from 1
	What   string `json:"what"`
	Fix    string `json:"fix"`
}

// Mistakes is the error about a file that cannot be carried out as it is written.
type Mistakes struct {
	File string    // as the person named it
	All  []Mistake // by line and column
}

// limit bounds how many mistakes are shown at once.
const limit = 10

// Lines are the first ten mistakes, one a line, as compilers write them, and how many more there
// are.
func (m *Mistakes) Lines() []string {
	var lines []string
	for _, one := range m.All[:min(len(m.All), limit)] {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s; %s", m.File, one.Line, one.Column, one.What, one.Fix))
	}
	if more := len(m.All) - limit; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

// Error names the mistakes.
func (m *Mistakes) Error() string {
	count := "1 mistake"
	if n := len(m.All); n > 1 {
		count = fmt.Sprintf("%d mistakes", n)
	}
	return fmt.Sprintf("%s has %s, and cannot be carried out:\n%s", m.File, count, strings.Join(m.Lines(), "\n"))
}

// wrong notes a mistake.
func (r *reader) wrong(at place, fix, what string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{at.line, at.column, strings.ReplaceAll(fmt.Sprintf(what, args...), "\n", " "), fix})
}

// sorted are the mistakes by their places, each once.
func sorted(all []Mistake) []Mistake {
	slices.SortStableFunc(all, func(a, b Mistake) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	return slices.Compact(all)
}

// nearest is the one of the names that a word was meant for; "" where none is near.
func nearest(names []string, word string) string {
	best, least := "", 1+max(1, min(3, len(word)/3))
	if len(word) > 64 {
		return ""
	}
	word = strings.ReplaceAll(strings.ToLower(word), "_", "-")
	for _, name := range names {
		n := edits(strings.ReplaceAll(strings.ToLower(name), "_", "-"), word)
		if n > 1 && len(word) > 2 && (strings.HasPrefix(name, word) || strings.HasPrefix(word, name)) {
			n = 1 // input for inputs, outputs-of for outputs
		}
		if n < least {
			best, least = name, n
		}
	}
	return best
}

// edits is how many bytes have to be changed, added, left out or exchanged with the next to come
// from a to b.
func edits(a, b string) int {
	var above, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		above, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
	}
	return next[len(b)]
}

// list writes words of which one is to be chosen.
func list[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
