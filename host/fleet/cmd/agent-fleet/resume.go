package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const resumeHelp = `Has a parked run go on: one that several attempts in a row did not bring
forward, or that lacks something on its host. A run that pauses between two
attempts goes on at once.

EXAMPLE
   agent-fleet resume r-7k2m9qx4

EXIT STATUS
   0 it goes on; 1 refused; 2 wrong usage; with --wait that of the run`

func resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "have a parked run go on", ArgsUsage: "RUN", Description: resumeHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "wait", Usage: "wait until the run ends or asks something"}, jsonFlag(),
		}, engineFlags()),
		Action: actOn(func(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
			if _, err := f.Resume(ctx, run); err != nil {
				return err
			}
			if c.Bool("wait") {
				return follow(ctx, c, f, run)
			}
			row, err := f.Where(ctx, run)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(stdout(c), viewOf(row))
			}
			fmt.Fprintln(c.Root().ErrWriter, lineOf(row))
			return nil
		}),
	}
}
