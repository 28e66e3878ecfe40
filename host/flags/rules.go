package flags

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/permission"
	"agent/recovery/journal"
)

// rules reads --allow, --allow-full and --deny as the rules that they stand for; "" where none is
// given.
func rules(c *cli.Command) (string, error) {
	var all []permission.Rule
	for _, flag := range []struct {
		name string
		read func(text string) (permission.Rule, error)
	}{
		{"allow", func(text string) (permission.Rule, error) { return permission.Read(journal.DecisionAllow, text) }},
		{"allow-full", permission.ReadFull},
		{"deny", func(text string) (permission.Rule, error) { return permission.Read(journal.DecisionDeny, text) }},
	} {
		for _, text := range c.StringSlice(flag.name) {
			r, err := flag.read(text)
			if wrong := new(permission.KeyError); errors.As(err, &wrong) && wrong.Key == "text" {
				err = wrong.Err // what was typed is the text
			}
			if err != nil {
				return "", app.Usage(fmt.Errorf("--%s %q: %v; see agent help permissions", flag.name, text, err))
			}
			all = append(all, r)
		}
	}
	return permission.TOML(all), nil
}
