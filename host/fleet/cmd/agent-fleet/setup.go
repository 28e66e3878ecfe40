package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
)

const setupHelp = `Prepares the engine for a fleet: makes the namespace, if it is not there,
adds the search attributes that a fleet needs, and marks it as that of the
fleet whose key this is. What is there already stays as it is.

EXAMPLE
   agent-fleet setup --engine temporal.corp:7233 --namespace ci

EXIT STATUS
   0 it is prepared; 1 it is not; 2 wrong usage`

func setupCommand() *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "prepare the engine for a fleet", Description: setupHelp, Flags: engineFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			o, err := engineOptions(c)
			if err != nil {
				return err
			}
			f, err := client.Setup(ctx, o, func(done string) { fmt.Fprintln(c.Root().ErrWriter, done) })
			if err != nil {
				return err
			}
			defer f.Close() // what it set up is acknowledged
			fmt.Fprintf(c.Root().ErrWriter, "the namespace %s of the engine %s is that of fleet %s\n", o.Namespace, o.Address, o.Key.Fleet())
			return nil
		},
	}
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check the engine and the runs of the fleet",
		Description: `Checks that the engine can be reached, that the namespace is that of this
fleet and keeps ended runs long enough, that workers are there, and which
runs wait for a person.

EXIT STATUS
   0 nothing is wrong; 1 something is, or the engine cannot be asked`,
		Flags: slices.Concat([]cli.Flag{jsonFlag()}, engineFlags()),
		Action: act(func(ctx context.Context, c *cli.Command, f *client.Client) error {
			found, err := f.Doctor(ctx)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := printJSON(stdout(c), struct {
					Version  int              `json:"version"`
					Findings []client.Finding `json:"findings"`
				}{1, found}); err != nil {
					return err
				}
			}
			n := 0
			for _, x := range found {
				mark := "ok   "
				if x.Wrong {
					mark, n = "WRONG", n+1
				}
				if !c.Bool("json") {
					fmt.Fprintf(stdout(c), "%s  %s\n", mark, x.Text)
				}
			}
			if n > 0 {
				return code(exitFailed)
			}
			return nil
		}),
	}
}

// historyCommand saves the history of a run for the tests that replay it.
func historyCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "print a run's history as the engine has it, sealed", ArgsUsage: "RUN", Hidden: true, Flags: engineFlags(),
		Action: actOn(func(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
			b, err := f.History(ctx, run)
			if err != nil {
				return err
			}
			_, err = stdout(c).Write(b)
			return err
		}),
	}
}
