package host

import (
	"encoding/json"
	"strings"
)

// Words says in a few words what a call is about: its command, path, pattern or question.
func Words(tool string, args json.RawMessage) string {
	var m map[string]any
	if err := json.Unmarshal(args, &m); err != nil {
		return brief(string(args), 80)
	}
	for _, key := range []string{"command", "path", "pattern", "question", "call"} {
		if s, ok := m[key].(string); ok {
			return brief(firstCommand(s), 80)
		}
	}
	return brief(string(args), 80)
}

// firstCommand is the first line that says something.
func firstCommand(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "#") {
			if len(lines) > 1 {
				return l + " …"
			}
			return l
		}
	}
	return s
}
