package config

import (
	"maps"
	"path"
	"slices"
	"strings"
)

type envKeys struct {
	Pass []string          `toml:"pass"`
	Deny []string          `toml:"deny"`
	Set  map[string]string `toml:"set"`
}

// Env says which variables of the environment commands get, as environ.Rules does.
type Env struct {
	Pass []string
	Deny []string
	Set  map[string]string
}

// env reads the rules for variables. What steers agent itself can be given to no command.
func (c *checker) env(k *envKeys) Env {
	if k == nil {
		return Env{}
	}
	for key, names := range map[string][]string{"pass": k.Pass, "deny": k.Deny} {
		for _, name := range names {
			if _, err := path.Match(name, ""); err != nil || strings.ContainsAny(name, "= ") || name == "" {
				c.wrong([]string{"env", key}, "%s: %q is no name of a variable, and no pattern of names such as AWS_*", key, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Set)) {
		switch {
		case strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || name == "" || name[0] <= '9':
			c.wrong([]string{"env", "set"}, "set: %q is no name of a variable", name)
		case strings.HasPrefix(name, "AGENT_"):
			c.wrong([]string{"env", "set"}, "set: %s is for this program, and is given to no command", name)
		case strings.ContainsRune(k.Set[name], 0):
			c.wrong([]string{"env", "set"}, "set: the value of %s holds a NUL byte", name)
		}
	}
	return Env(*k)
}
