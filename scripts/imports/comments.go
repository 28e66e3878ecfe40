package main

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// maxComment is how many columns a line of a comment may have. A tab counts as four.
const maxComment = 100

// wideComments finds lines of comments that are too wide: from their indentation on where nothing
// else is in the line, and from where the comment begins where it follows code. Of a
// script and of SQL, whose comments are not parsed, only the former.
func wideComments(s *source) []finding {
	if s.syntax == nil {
		return wideLines(s)
	}
	lines := strings.Split(string(s.text), "\n")
	var found []finding
	for _, group := range s.syntax.Comments {
		for _, c := range group.List {
			at := s.fset.Position(c.Pos())
			for i, text := range strings.Split(c.Text, "\n") {
				if before := lines[at.Line-1][:at.Column-1]; i == 0 && strings.TrimSpace(before) == "" {
					text = before + text
				}
				found = append(found, wide(s, at.Line+i, text)...)
			}
		}
	}
	return found
}

// wideLines looks at files whose comments begin with a mark and end with the line.
func wideLines(s *source) []finding {
	if s.dir == "db/migrations" {
		return nil // a state folder is known by the bytes of its migrations, comments included
	}
	mark := "#"
	switch path.Ext(s.path) {
	case ".sql":
		mark = "--"
	case ".md":
		return nil
	}
	var found []finding
	n := 0
	for line := range strings.Lines(string(s.text)) {
		n++
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), mark) {
			found = append(found, wide(s, n, strings.TrimSuffix(line, "\n"))...)
		}
	}
	return found
}

func wide(s *source, line int, text string) []finding {
	n := utf8.RuneCountInString(strings.ReplaceAll(text, "\t", "    "))
	if n <= maxComment {
		return nil
	}
	return []finding{{path: s.path, line: line, text: fmt.Sprintf("a comment of %d columns, at most %d are allowed", n, maxComment)}}
}
