// Package help holds the topics of agent help. Each is a Markdown file of at most 80 columns, so
// that it reads well in a terminal as it is, and in the repository too. The first line of a file is
// its title: the topic's name, and what it is about.
package help

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// Topic is one text of the help.
type Topic struct {
	Name  string
	About string // one line, without a full stop
	Text  string // the whole Markdown file
}

// names are the topics in the order in which help lists them: what a new user needs comes first.
func names() []string {
	return []string{
		"configuration", "models", "permissions", "sandbox", "secrets", "mcp", "delegate", "runbooks", "flows", "recovery", "undo", "commits", "background", "promises", "scripting", "ci", "server", "editor", "fleet", "state",
		"proof", "code", "glossary", "changes",
	}
}

// Topics are all topics in the order in which help lists them.
func Topics() ([]Topic, error) {
	var all []Topic
	for _, name := range names() {
		text, err := files.ReadFile(name + ".md")
		if err != nil {
			return nil, fmt.Errorf("read the help topic %s: %w", name, err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		about, ok := strings.CutPrefix(title, "# "+name+": ")
		if !ok {
			return nil, fmt.Errorf("the help topic %s begins with %q, not with its name and what it is about", name, title)
		}
		all = append(all, Topic{Name: name, About: about, Text: string(text)})
	}
	return all, nil
}

// List has one line for each topic.
func List(topics []Topic) string {
	var lines []string
	for _, t := range topics {
		lines = append(lines, fmt.Sprintf("   %-14s %s", t.Name, t.About))
	}
	return strings.Join(lines, "\n")
}

// Meant says which of the texts may be meant by a name that none of them has: by their names, else
// by what they speak of.
func Meant(texts []Topic, name string) string {
	var names []string
	for _, t := range texts {
		names = append(names, t.Name)
	}
	if found := Near(names, name); len(found) > 0 {
		return " (did you mean " + strings.Join(found, " or ") + "?)"
	}
	if found := Speaking(texts, name, 3); len(found) > 0 {
		return "; these speak of it: agent help " + strings.Join(found, ", agent help ")
	}
	return ""
}

// Speaking are the names of the texts in which a word stands, at most so many: those whose
// description has it first, then those that use it most.
func Speaking(texts []Topic, word string, most int) []string {
	if len(word) < 3 {
		return nil
	}
	word = strings.ToLower(word)
	uses := map[string]int{}
	var found []string
	for _, t := range texts {
		const described = 1000 // more than any text uses a word
		n := strings.Count(strings.ToLower(t.Text), word) + described*strings.Count(strings.ToLower(t.About), word)
		if n > 0 {
			uses[t.Name] = max(uses[t.Name], n)
			found = append(found, t.Name)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return uses[b] - uses[a] })
	found = slices.Compact(found)
	return found[:min(most, len(found))]
}

// Near are the names that a word may have been meant for: it begins one, or differs from it by one
// letter, a longer word by two.
func Near(all []string, word string) []string {
	var near []string
	for _, name := range all {
		if len(word) > 2 && strings.HasPrefix(name, word) || edits(name, word) <= min(2, len(word)/3) && len(word) > 3 {
			near = append(near, name)
		}
	}
	slices.Sort(near)
	return slices.Compact(near)
}

// edits is how many letters have to be changed, added or left out to come from a to b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, last+1)
		}
	}
	return row[len(b)]
}
