package config

import (
	"errors"
	"slices"

	"agent/host/permission"
	"agent/recovery/journal"
)

// workspaceKeys is the file of a workspace as it is written.
type workspaceKeys struct {
	limitKeys
	restrictKeys
}

// parseWorkspace reads the file of a workspace, which may only bound what a run may do there.
func parseWorkspace(file, user string, text []byte) (Limits, []permission.Rule, error) {
	d := newDocument(file, text, func(path []string) bool {
		return isKey(path) && slices.Contains([]string{"mode", "max_turns", "max_tokens", "max_cost", "timeout", "ask", "deny"}, path[0])
	})
	var k workspaceKeys
	err := decode(d, text, &k, func(path []string) *Error {
		if !slices.Contains(keysAt(nil), path[0]) || path[0] == "ask" || path[0] == "deny" {
			return d.unknownKey(path)
		}
		if user == "" {
			user = "your own config.toml"
		}
		return d.wrong(path,
			"%s may not stand in the file of a workspace, which comes with its repository and may only tighten mode, max_turns, max_tokens, max_cost and timeout, and hold [[ask]] and [[deny]] rules; write it into %s",
			dotted(path[:1]), user)
	})
	if err != nil {
		return Limits{}, nil, err
	}
	c := &checker{d: d}
	l := c.limits(k.limitKeys)
	rules := append(c.rules(journal.DecisionAsk, k.Ask, true), c.rules(journal.DecisionDeny, k.Deny, true)...)
	return l, rules, errors.Join(c.all...)
}
