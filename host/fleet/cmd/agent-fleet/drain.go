package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
	"agent/fleet/custody"
	"agent/fleet/worker"
)

const drainHelp = `Has a host take no further run, and moves the runs that it has to others:
each stops at its next settled call, and nothing becomes unknown. The host
takes runs again when its worker is started again.

EXAMPLE
   agent-fleet drain h-07 --within 110s

EXIT STATUS
   0 the host has no run; 1 it has, or the engine cannot be asked; 2 wrong
   usage`

func drainCommand() *cli.Command {
	return &cli.Command{
		Name: "drain", Usage: "take a host out of the fleet", ArgsUsage: "HOST", Description: drainHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.DurationFlag{Name: "within", Value: 110 * time.Second, Usage: "wait this `TIME` for it"},
		}, engineFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := arguments(c, 1, 1); err != nil {
				return err
			}
			if strings.TrimSpace(c.Args().First()) == "" {
				return usage("drain: the name of the host is empty; agent-fleet ls and agent-fleet doctor name hosts")
			}
			return act(func(ctx context.Context, c *cli.Command, f *client.Client) error {
				ctx, cancel := context.WithTimeout(ctx, c.Duration("within"))
				defer cancel()
				return drain(ctx, c, f, c.Args().First())
			})(ctx, c)
		},
	}
}

// drain moves what a host has until it has nothing. A host that does not answer can still lose its
// runs: they are moved when it is silent for long enough.
func drain(ctx context.Context, c *cli.Command, f *client.Client, host string) error {
	if err := f.Polled(ctx, host); err != nil {
		return fmt.Errorf("drain %s: %w", host, err)
	}
	if err := worker.StartDrain(ctx, f.Engine(), host); err != nil {
		return err
	}
	asked := map[string]bool{}
	for t := time.NewTicker(time.Second); ; {
		rows, err := f.List(ctx, false)
		if err != nil && ctx.Err() == nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r client.Row) bool { return r.Host != host || r.Over() })
		if err == nil && len(rows) == 0 {
			fmt.Fprintf(c.Root().ErrWriter, "%s has no run, and takes none until its worker is started again\n", host)
			return nil
		}
		for _, r := range rows {
			if asked[r.Run] {
				continue
			}
			asked[r.Run] = true
			if _, err := f.Move(ctx, r.Run, custody.Move{By: who()}); err != nil && !errors.As(err, new(*client.RefusedError)) {
				return err
			}
			fmt.Fprintf(c.Root().ErrWriter, "run %s is to leave %s\n", r.Run, host)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("drain %s: it has %d runs still after %s: agent-fleet ls", host, len(rows), c.Duration("within"))
		}
	}
}
