package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/custody"
)

// nonempty refuses flags that are given and empty, as where a script's variable is not set.
func nonempty(c *cli.Command, names ...string) error {
	for _, name := range names {
		if c.IsSet(name) && strings.TrimSpace(c.String(name)) == "" {
			return usage("%s --%s: it is given and empty; leave it out, or look at the variable that it comes from", c.FullName(), name)
		}
	}
	return nil
}

// runnable refuses what no host could run, before anything is begun.
func runnable(c *cli.Command) error {
	names := []string{"git", "file"}
	for _, f := range passedOn() {
		if _, text := f.(*cli.StringFlag); text {
			names = append(names, f.Names()[0])
		}
	}
	if err := nonempty(c, names...); err != nil {
		return err
	}
	modes := []string{"plan", "ask", "auto", "yolo"}
	if mode := c.String("mode"); mode != "" && !slices.Contains(modes, mode) {
		return usage("--mode %s: there is no such mode; it is one of %s", mode, strings.Join(modes, ", "))
	}
	for _, name := range []string{"max-turns", "max-tokens", "max-cost", "timeout", "expire"} {
		if text := c.String(name); strings.HasPrefix(text, "-") {
			return usage("--%s %s: it cannot be negative", name, text)
		}
	}
	if text := c.String("max-turns"); text != "" {
		if _, err := strconv.Atoi(text); err != nil {
			return usage("--max-turns %s: it wants a whole number", text)
		}
	}
	for _, name := range []string{"timeout", "expire"} {
		if text := c.String(name); text != "" {
			if _, err := time.ParseDuration(text); err != nil {
				return usage("--%s %s: it wants a time, such as 30m", name, text)
			}
		}
	}
	return nil
}

// The front matter of a prompt, and the line of it that makes the prompt a flow.
var (
	frontMatter = regexp.MustCompile(`\A\x{feff}?---[ \t]*\r?\n(?s:(.*?)\n)(?:---|\.\.\.)[ \t]*\r?(?:\n|\z)`)
	flowLine    = regexp.MustCompile(`(?m)^agent:[ \t]+["']?flow["']?[ \t]*(?:[ \t]#.*)?\r?$`)
)

// noFlow refuses a flow: its task is not passed on, and what becomes of its phases where a host is
// lost was never tried.
func noFlow(r custody.Run) error {
	m := frontMatter.FindStringSubmatch(r.Prompt)
	if m == nil || !flowLine.MatchString(m[1]) {
		return nil
	}
	return usage("%s is a flow, and a fleet carries none out: agent run -f %s does, on one machine", cmp.Or(r.File, "the prompt"), cmp.Or(r.File, "FILE"))
}
