package host

import (
	"encoding/json"

	"agent/host/model"
	"agent/tools/patch"
)

// Words says in a few words what a call is about: its command, path, pattern, question, address or files.
func Words(tool string, args json.RawMessage) string {
	var m map[string]any
	if err := json.Unmarshal(args, &m); err != nil {
		return brief(string(args), 80)
	}
	for _, key := range []string{"command", "path", "pattern", "question", "call"} {
		if s, ok := m[key].(string); ok {
			return brief(model.FirstCommand(s, 78), 80)
		}
	}
	if s, ok := m["url"].(string); ok && tool == "fetch" {
		if method, _ := m["method"].(string); method != "" { // GET is the usual one, and needs no word
			s = method + " " + s
		}
		return brief(s, 80)
	}
	if s, ok := m["patch"].(string); ok {
		if p, err := patch.Parse(s); err == nil {
			return brief(p.Words(), 80)
		}
	}
	return brief(string(args), 80)
}
