package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const showHelp = `Says where a run is, what it waits for, and which command brings it forward.
It asks the engine alone: no host and no worker needs to be there.

EXAMPLE
   agent-fleet show r-7k2m9qx4

EXIT STATUS
   0 shown; 1 there is no such run, or the engine cannot be asked; 2 wrong
   usage`

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Aliases: []string{"where"}, Usage: "say where a run is", ArgsUsage: "RUN", Description: showHelp,
		Flags: slices.Concat([]cli.Flag{jsonFlag()}, engineFlags()),
		Action: actOn(func(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
			row, err := f.Where(ctx, run)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(stdout(c), viewOf(row))
			}
			show(c, row)
			return nil
		}),
	}
}

func show(c *cli.Command, row client.Row) {
	w := stdout(c)
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-9s %s\n", name, text)
		}
	}
	now := time.Now()
	field("run", row.Run)
	field("status", fmt.Sprintf("%s since %s (%s ago)", row.Status, row.Since.Local().Format(time.DateTime), client.Span(now.Sub(row.Since))))
	field("host", row.Host)
	field("place", placeOf(row))
	if row.Beat != nil {
		field("heard of", client.Span(now.Sub(*row.Beat))+" ago")
	}
	if row.Progress != nil {
		field("log", row.Progress.Later)
	}
	field("asked by", row.By)
	field("repo", row.Repo)
	if q := row.Request; q != nil {
		field("question", q.ID+": "+q.Text)
		for _, choice := range q.Choices {
			field("", "- "+choice)
		}
		if q.Expires != nil {
			field("expires", q.Expires.Local().Format(time.DateTime))
		}
	}
	if n := row.Refused; n == 1 {
		field("refused", "an answer to one of its questions was accepted and not taken")
	} else if n > 1 {
		field("refused", fmt.Sprintf("%d answers to its questions were accepted and not taken", n))
	}
	field("reason", row.Reason)
	if row.Report != nil {
		for _, u := range row.Report.Unknown {
			field("unknown", u)
		}
		field("text", fleetText(row.Report.Text))
	}
	field("next", row.Next)
}
