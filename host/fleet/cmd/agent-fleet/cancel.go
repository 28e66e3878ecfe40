package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const cancelHelp = `Ends a run, wherever it is. The engine has recorded it before the command
waits for the end. Where the host does not answer, the end is written to the
log: the host can start nothing any more, even if it returns.

EXAMPLE
   agent-fleet cancel r-7k2m9qx4

EXIT STATUS
   0 the run is cancelled, or was already; 1 it ended before, or was refused;
   2 wrong usage; 4 it is recorded and not yet done`

func cancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "end a run", ArgsUsage: "RUN", Description: cancelHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.DurationFlag{Name: "within", Value: 30 * time.Second, Usage: "wait this `TIME` for the end"}, jsonFlag(),
		}, engineFlags()),
		Action: actOn(func(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
			if err := f.Cancel(ctx, run); err != nil {
				return err
			}
			waiting, cancel := context.WithTimeout(ctx, c.Duration("within"))
			defer cancel()
			row, err := f.Wait(waiting, run, 300*time.Millisecond, client.Row.Over, func(client.Row) {})
			if err != nil && waiting.Err() == nil {
				return err
			}
			if c.Bool("json") {
				err = printJSON(stdout(c), viewOf(row))
			} else if row.Over() {
				fmt.Fprintln(c.Root().ErrWriter, lineOf(row))
			} else {
				fmt.Fprintf(c.Root().ErrWriter, "run %s: it is recorded that it is to end; agent-fleet show %s says when it has\n", run, run)
			}
			switch {
			case !row.Over():
				return errors.Join(err, code(exitInterrupted))
			case row.Status != "cancelled":
				return errors.Join(err, code(exitFailed))
			}
			return err
		}),
	}
}
