// Package words says in a few words what a call is about, for a line of its own.
package words

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/host/model"
	"agent/tools/patch"
)

// Call says in a few words what a call is about: its command, path, pattern, question, address or
// files. A search is about its pattern first, and a part of a file names its lines.
func Call(tool string, args json.RawMessage) string {
	var m map[string]any
	if err := json.Unmarshal(args, &m); err != nil {
		return Brief(string(args), 80)
	}
	switch pattern, _ := m["pattern"].(string); {
	case pattern != "" && (tool == "search" || tool == "find_files"):
		return searched(m, pattern)
	case tool == "read_file":
		if path, ok := m["path"].(string); ok {
			return Brief(path, 80) + lines(m)
		}
	case tool == "restore_files":
		if files, ok := m["files"].([]any); ok && len(files) == 1 {
			return "make 1 path again"
		} else if ok {
			return fmt.Sprintf("make %d paths again", len(files))
		}
	}
	for _, key := range []string{"command", "path", "pattern", "question", "call", "task"} {
		if s, ok := m[key].(string); ok {
			return Brief(model.FirstCommand(s, 78), 80)
		}
	}
	if s, ok := m["url"].(string); ok && tool == "fetch" {
		if method, _ := m["method"].(string); method != "" { // GET is the usual one, and needs no word
			s = method + " " + s
		}
		return Brief(s, 80)
	}
	if s, ok := m["patch"].(string); ok {
		if p, err := patch.Parse(s); err == nil {
			return Brief(p.Words(), 80)
		}
	}
	return Brief(string(args), 80)
}

// searched is a pattern, with where it is looked for.
func searched(m map[string]any, pattern string) string {
	text := Brief(pattern, 60)
	if path, _ := m["path"].(string); path != "" && path != "." {
		text += " in " + Brief(path, 60)
	}
	if glob, _ := m["glob"].(string); glob != "" {
		text += " (" + Brief(glob, 30) + ")"
	}
	return text
}

// lines is the part of a file that a call reads; "" where it is the whole.
func lines(m map[string]any) string {
	first, from := m["offset"].(float64)
	count, limited := m["limit"].(float64)
	switch {
	case limited:
		first = max(first, 1)
		return fmt.Sprintf(", lines %.0f to %.0f", first, first+count-1)
	case from && first > 1:
		return fmt.Sprintf(", from line %.0f", first)
	}
	return ""
}

// Brief shortens a text to its first words for a line of its own.
func Brief(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
