package shell

import (
	"slices"
	"strings"
)

// EnvironmentNames lists, in alphabetical order, the variables of an environment that commands get.
func EnvironmentNames(environ []string) []string {
	names := []string{}
	for _, pair := range allowed(environ) {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
