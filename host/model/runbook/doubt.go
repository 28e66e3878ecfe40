package runbook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nearMiss is how many letters a slip of the pen changes, adds or leaves out.
const nearMiss = 2

// Doubts names the list items of a prompt that begin almost as a call does and are prose all the
// same.
func (*Model) Doubts(prompt string) []string {
	p := newParser(prompt)
	if p.read() != nil {
		return nil // Plan refuses it
	}
	return p.doubts[:min(len(p.doubts), errorLimit)]
}

// Steps counts the steps of a text and names the first: "line 12: sh: make release". A text with a
// step looks like a runbook.
func Steps(text string) (int, string) {
	p := newParser(text)
	if p.read() != nil || len(p.steps) == 0 {
		return 0, ""
	}
	return len(p.steps), p.steps[0].brief()
}

// Takes says whether a prompt is one for a runbook: it has a step, or an item that is almost one,
// or asks for what an earlier one left undone.
func Takes(prompt string) bool {
	p := newParser(prompt)
	return p.read() == nil && len(p.steps)+len(p.doubts)+len(p.errs) > 0 || isContinue(prompt)
}

// Check counts the steps of a text and reports all that is wrong with it, line by line.
func Check(text string, wrong func(line int, what string)) int {
	p := newParser(text)
	if err := p.read(); err != nil {
		wrong(1, err.Error())
		return 0
	}
	for _, err := range p.errs {
		var m *mistake
		if errors.As(err, &m) {
			wrong(m.line, m.text)
		}
	}
	return len(p.steps)
}

// doubt notes a list item that is prose and whose first word is almost a tool's name.
func (p *parser) doubt(content string) {
	content, _ = untick(strings.TrimSpace(content))
	word, _, _ := strings.Cut(strings.TrimLeft(content, "`"), " ")
	word = strings.TrimRight(word, "`:")
	if tool := meant(word); tool != "" {
		p.doubts = append(p.doubts, fmt.Sprintf("line %d: %s is no tool; did you mean %s? it is taken as prose", p.n+1, word, tool))
	}
}

// meant is the tool whose name is nearest to the word; "" where none is near. The names without an
// underscore are words of plain English, which other words of it are near to.
func meant(word string) string {
	if _, exact := shapes[word]; exact {
		return ""
	}
	best, least := "", nearMiss+1
	for _, tool := range slices.Sorted(maps.Keys(shapes)) {
		if !strings.Contains(tool, "_") || len(word) > len(tool)+nearMiss {
			continue
		}
		if n := edits(word, tool); n < least {
			best, least = tool, n
		}
	}
	return best
}

// edits is how many bytes have to be changed, added or left out to come from a to b.
func edits(a, b string) int {
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := []int{i + 1}
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row = append(row, min(change, above[j+1]+1, row[j]+1))
		}
		above = row
	}
	return above[len(b)]
}
