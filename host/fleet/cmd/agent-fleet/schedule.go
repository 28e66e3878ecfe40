package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const scheduleHelp = `Has the engine begin runs at certain times. While the last run of a schedule
has not ended, the next one is left out.

EXAMPLE
   agent-fleet schedule add nightly --cron '0 3 * * *' -f book.md
   agent-fleet schedule ls
   agent-fleet schedule rm nightly

EXIT STATUS
   0 done; 1 refused, or the engine cannot be asked; 2 wrong usage`

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func scheduleCommand() *cli.Command {
	return &cli.Command{
		Name: "schedule", Usage: "begin runs at certain times", Description: scheduleHelp,
		Commands: []*cli.Command{scheduleAdd(), scheduleList(), scheduleRemove()},
	}
}

func scheduleAdd() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "add a schedule", ArgsUsage: `NAME ["prompt"]`,
		DisableSliceFlagSeparator: true, // as run
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "cron", Usage: "begin a run at `TIMES`, as in a crontab; may be given again"},
			&cli.StringFlag{Name: "zone", Value: "UTC", Usage: "the times are those of `ZONE`, such as Europe/Berlin"},
		}, requestFlags(), engineFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			name, err := nameOf(c, c.Args().First())
			if err != nil {
				return err
			}
			if len(c.StringSlice("cron")) == 0 {
				return usage("schedule add %s: say when its runs begin, such as --cron '0 3 * * *'", name)
			}
			for _, times := range c.StringSlice("cron") {
				if n := len(strings.Fields(times)); n < 5 && !strings.HasPrefix(times, "@") || n > 7 {
					return usage("schedule add %s --cron %q: it has %d fields, and a line of a crontab has 5, minute hour day month weekday, such as '0 3 * * *'", name, times, n)
				}
			}
			r, err := requestWith(c, c.Args().Tail())
			if err != nil {
				return err
			}
			return act(func(ctx context.Context, c *cli.Command, f *client.Client) error {
				s := client.Schedule{Name: name, Cron: c.StringSlice("cron"), Zone: c.String("zone"), Run: r}
				if err := f.AddSchedule(ctx, s); err != nil {
					return err
				}
				fmt.Fprintf(c.Root().ErrWriter, "added; agent-fleet schedule ls says when its next run begins\n")
				return nil
			})(ctx, c)
		},
	}
}

func nameOf(c *cli.Command, name string) (string, error) {
	if !scheduleName.MatchString(name) {
		return "", usage("schedule %s: %q is no name of a schedule, such as nightly", c.Name, name)
	}
	return name, nil
}

func scheduleList() *cli.Command {
	return &cli.Command{
		Name: "ls", Usage: "list the schedules", Flags: slices.Concat([]cli.Flag{jsonFlag()}, engineFlags()),
		Action: act(func(ctx context.Context, c *cli.Command, f *client.Client) error {
			all, err := f.Schedules(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(stdout(c), map[string]any{"version": 1, "schedules": all})
			}
			if len(all) == 0 {
				fmt.Fprintln(c.Root().ErrWriter, "no schedules: agent-fleet schedule add NAME --cron TIMES adds one")
			}
			for _, s := range all {
				fmt.Fprintf(stdout(c), "%-20s  next %s\n", s.Name, s.NextText())
			}
			return nil
		}),
	}
}

func scheduleRemove() *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "remove a schedule; the run that it began goes on", ArgsUsage: "NAME", Flags: engineFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			name, err := nameOf(c, c.Args().First())
			if err != nil {
				return err
			}
			return act(func(ctx context.Context, _ *cli.Command, f *client.Client) error { return f.RemoveSchedule(ctx, name) })(ctx, c)
		},
	}
}
