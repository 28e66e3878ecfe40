package model

import "strings"

// FirstCommand names a script for people: its first line that is no comment, its first line where
// all are, cut to limit letters. " …" follows where the script has more.
func FirstCommand(script string, limit int) string {
	script = strings.TrimSpace(script)
	first := ""
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if first == "" {
			first = line
		}
		if line != "" && line[0] != '#' {
			first = line
			break
		}
	}
	if r := []rune(first); len(r) > limit {
		first = string(r[:limit-1]) + "…"
	}
	if strings.Contains(script, "\n") {
		first += " …"
	}
	return first
}
