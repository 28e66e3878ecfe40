package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// refusedWord is a form of words that this project once used in a sense of its own, and what to
// write instead. Only what is hardly ever right is listed: "said" and "word" alone have too many
// good uses to be judged by a program.
type refusedWord struct {
	pattern *regexp.Regexp
	instead string
}

func refusedWords() []refusedWord {
	var all []refusedWord
	for pattern, instead := range map[string]string{
		`told`:                                "reported, informed, asked, named, known",
		`said so`:                             "reported, printed, stated; or name what was stated",
		`mend(s|ed|ing)?`:                     "fix, repair",
		`the like`:                            "similar",
		`(give|gives|gave|given|giving) up`:   "abort, stop, free, drop",
		`with an end`:                         "finished, closed",
		`without a word`:                      "silently, without a message",
		`bur(y|ies|ied)`:                      "wait for, reap, remove",
		`deeds?`:                              "command, effect",
		`to and fro`:                          "between",
		`in vain`:                             "without a result",
		`(your|a person's|the person's) word`: "your decision, a person's decision",
	} {
		all = append(all, refusedWord{regexp.MustCompile(`(?i)\b` + pattern + `\b`), instead})
	}
	return all
}

// goodUse says whether a refused word stands where it is plain English, or where it is a name or a
// value and not text.
func goodUse(text string, at []int, names map[string]bool) bool {
	before, word, after := text[:at[0]], text[at[0]:at[1]], text[at[1]:]
	if names[word] && (strings.Trim(before, "/ \t") == "" || word != strings.ToLower(word)) {
		return true // the documentation of what is called so begins with it
	}
	switch strings.ToLower(word) {
	case "without a word":
		return strings.HasPrefix(after, " from") // nobody was asked
	case "told":
		return strings.HasPrefix(after, " apart") || strings.HasPrefix(after, " from") || // to tell one from another
			strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`) // How of a result, which stands in journals
	}
	return false
}

// checkWords finds refused words in the comments of all Go files, in the string literals of those
// that are no tests, and in Markdown.
func checkWords(sources []*source) []finding {
	words := refusedWords()
	var all []finding
	for _, s := range sources {
		all = append(all, wordsOf(s, words)...)
	}
	return all
}

func wordsOf(s *source, words []refusedWord) []finding {
	if strings.HasSuffix(s.path, ".md") {
		return refusedIn(s, string(s.text), 1, words, nil)
	}
	if s.syntax == nil || s.generated || s.dir == "scripts/imports" {
		return nil
	}
	names := map[string]bool{}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	var found []finding
	line := func(pos token.Pos) int { return s.fset.Position(pos).Line }
	for _, group := range s.syntax.Comments {
		for _, c := range group.List {
			found = append(found, refusedIn(s, c.Text, line(c.Pos()), words, names)...)
		}
	}
	if s.test {
		return found // its literals are what others write
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			found = append(found, refusedIn(s, lit.Value, line(lit.Pos()), words, nil)...)
		}
		return true
	})
	return found
}

// refusedIn finds refused words in a text that begins at a line of its file.
func refusedIn(s *source, text string, first int, words []refusedWord, names map[string]bool) []finding {
	var found []finding
	for i, line := range strings.Split(text, "\n") {
		for _, w := range words {
			for _, at := range w.pattern.FindAllStringIndex(line, -1) {
				if !goodUse(line, at, names) {
					found = append(found, finding{path: s.path, line: first + i, text: fmt.Sprintf("%q: write %s", line[at[0]:at[1]], w.instead)})
				}
			}
		}
	}
	return found
}
