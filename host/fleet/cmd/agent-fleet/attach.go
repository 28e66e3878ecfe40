package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const attachHelp = `Follows a run until it ends or asks something. What the model writes is shown
on the host itself: ssh HOST agent attach RUN.

EXAMPLE
   agent-fleet attach r-7k2m9qx4

EXIT STATUS
   that of the run, as agent-fleet run --wait`

func attachCommand() *cli.Command {
	return &cli.Command{
		Name: "attach", Usage: "follow a run", ArgsUsage: "RUN", Description: attachHelp,
		Flags: slices.Concat([]cli.Flag{jsonFlag()}, engineFlags()),
		Action: actOn(func(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
			return follow(ctx, c, f, run)
		}),
	}
}
