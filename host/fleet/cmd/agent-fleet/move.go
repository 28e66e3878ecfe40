package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
	"agent/fleet/custody"
)

const moveHelp = `Has a run go on on another host. Its driver stops at the next settled call,
brings everything to the log and hands over: no outcome is unknown.

With --host-is-gone its host is not waited for: an entry in the log keeps it
from starting anything, even if it returns. A call that it had started is
then of unknown outcome, and a person is asked about it.

EXAMPLE
   agent-fleet move r-91qd3b0s --to h-11
   agent-fleet move r-3f0c8s1d --host-is-gone

EXIT STATUS
   0 another host has it, or it waits for one; 1 refused; 2 wrong usage;
   4 it is recorded and not yet done`

func moveCommand() *cli.Command {
	return &cli.Command{
		Name: "move", Usage: "have a run go on on another host", ArgsUsage: "RUN", Description: moveHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "to this `HOST` (default: any other)"},
			&cli.BoolFlag{Name: "host-is-gone", Usage: "do not wait for the host that has it"},
			&cli.DurationFlag{Name: "within", Value: time.Minute, Usage: "wait this `TIME` for it"}, jsonFlag(),
		}, engineFlags()),
		Before: func(ctx context.Context, c *cli.Command) (context.Context, error) { return ctx, nonempty(c, "to") },
		Action: actOn(func(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
			before, err := f.Where(ctx, run)
			if err != nil {
				return err
			}
			if _, err := f.Move(ctx, run, custody.Move{To: c.String("to"), Gone: c.Bool("host-is-gone"), By: who()}); err != nil {
				return err
			}
			return moved(ctx, c, f, before)
		}),
	}
}

// moved waits until a run is elsewhere.
func moved(ctx context.Context, c *cli.Command, f *client.Client, before client.Row) error {
	waiting, cancel := context.WithTimeout(ctx, c.Duration("within"))
	defer cancel()
	told := ""
	row, err := f.Wait(waiting, before.Run, 300*time.Millisecond, func(r client.Row) bool {
		return r.Status != "moving" && (r.Host != before.Host || still(r))
	}, func(r client.Row) {
		if line := lineOf(r); line != told && !c.Bool("json") {
			told = line
			fmt.Fprintln(c.Root().ErrWriter, line)
		}
	})
	if err != nil && waiting.Err() == nil {
		return err
	}
	if c.Bool("json") {
		if err := printJSON(stdout(c), viewOf(row)); err != nil {
			return err
		}
	}
	if err != nil {
		return code(exitInterrupted)
	}
	if row.Host == "" && row.Status == "waiting" && !c.Bool("json") {
		fmt.Fprintf(c.Root().ErrWriter, "run %s waits for its answer on no host; then it goes on where it was moved to\n", row.Run)
	}
	if row.Host == before.Host && before.Host != "" && !row.Over() {
		return fmt.Errorf("move run %s: %s has it still: %s", row.Run, row.Host, row.Reason)
	}
	return nil
}
