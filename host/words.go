package host

import (
	"encoding/json"

	"agent/host/model"
)

// Words says in a few words what a call is about: its command, path, pattern or question.
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
	return brief(string(args), 80)
}
