package config

import (
	"errors"
	"slices"
)

// parseWorkspace reads the file of a workspace, which may only bound what a run may do there.
func parseWorkspace(file, user string, text []byte) (Limits, error) {
	d := newDocument(file, text)
	var k limitKeys
	err := decode(d, text, &k, func(path []string) *Error {
		if !slices.Contains(keysAt(nil), path[0]) {
			return d.unknownKey(path)
		}
		if user == "" {
			user = "your own config.toml"
		}
		return d.wrong(path,
			"%s may not stand in the file of a workspace, which comes with its repository and may only tighten mode, max_turns, max_tokens, max_cost and timeout; write it into %s",
			dotted(path[:1]), user)
	})
	if err != nil {
		return Limits{}, err
	}
	c := &checker{d: d}
	l := c.limits(k)
	return l, errors.Join(c.all...)
}
