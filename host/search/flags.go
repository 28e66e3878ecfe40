package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/db/search"
	"agent/host/app"
	"agent/host/flags"
	"agent/recovery"
	"agent/recovery/fault"
)

// Flags say which runs are looked for.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "search", Usage: "only runs with all words of `TEXT` in prompt or answer"},
		&cli.StringFlag{Name: "name", Usage: "only runs that are called `NAME`; NAME* is the beginning of a name"},
		&cli.StringFlag{Name: "status", Usage: "only runs with `STATUS`, or one of several with commas between them; unfinished is all that have not ended"},
		flags.SinceFlag(),
	}
}

// unfinished stands for every status of a run that has not ended.
const unfinished = "unfinished"

// Read is what the flags say of the runs that are looked for; nil where they say nothing. f is what
// the other flags of a list say.
func Read(c *cli.Command, f app.Filter) (*Filter, error) {
	w := Filter{Words: c.String("search"), Name: c.String("name"), Limit: app.NewestShown}
	if w.Words != "" {
		if _, err := search.Expression(w.Words); err != nil {
			return nil, app.Usage(fmt.Errorf("--search %s: %v", w.Words, err))
		}
	}
	if text := c.String("status"); text != "" {
		if f.Interrupted || f.Waiting {
			return nil, app.Usage(errors.New("give --status alone, such as --status interrupted,waiting"))
		}
		if err := readStatuses(&w, text); err != nil {
			return nil, app.Usage(fmt.Errorf("--status: %v", err))
		}
	}
	var err error
	if w.Since, err = flags.ReadSince(c, fault.Now()); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(Flags(), func(flag cli.Flag) bool { return c.IsSet(flag.Names()[0]) }) {
		return nil, nil
	}
	if f.Interrupted {
		w.Statuses = append(w.Statuses, recovery.StatusInterrupted)
	}
	if f.Waiting {
		w.Statuses = append(w.Statuses, recovery.StatusWaiting)
	}
	if f.All || f.Interrupted || f.Waiting {
		w.Limit = 0
	}
	return &w, nil
}

// readStatuses reads statuses with commas between them into a filter.
func readStatuses(f *Filter, text string) error {
	var known []string
	for _, s := range recovery.Statuses() {
		known = append(known, string(s))
	}
	for word := range strings.SplitSeq(text, ",") {
		switch word = strings.TrimSpace(word); {
		case word == unfinished:
			f.Unended = true
		case slices.Contains(known, word):
			f.Statuses = append(f.Statuses, recovery.Status(word))
		default:
			return fmt.Errorf("there is no status %q; there are %s, and %s for all that have not ended", word, strings.Join(known, ", "), unfinished)
		}
	}
	return nil
}

// Nothing is what there is to say where no run fits: what was looked for.
func Nothing(c *cli.Command) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if words := c.String("search"); words != "" {
		add("ended, with the words %s", words)
	}
	if name := c.String("name"); strings.HasSuffix(name, "*") {
		add("called %s", name)
	} else if name != "" {
		add("called %s (%s* is the beginning of a name)", name, name)
	}
	for _, flag := range []string{"interrupted", "waiting"} {
		if c.Bool(flag) {
			add("%s", flag)
		}
	}
	if status := c.String("status"); status != "" {
		add("%s", strings.ReplaceAll(status, ",", " or "))
	}
	if since := c.String("since"); since != "" {
		add("started since %s", since)
	}
	return "no run fits: " + strings.Join(parts, "; ")
}
