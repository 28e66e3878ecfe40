package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/fleet/seal"
)

const keyHelp = `Makes the key of a fleet, in a file that only you can read. Every host of the
fleet gets a copy of it. With it everything of the fleet is sealed: what a log or
an engine holds cannot be read without it, nor can it be made again.

EXAMPLE
   agent-fleet key ~/.config/agent/fleet.key

EXIT STATUS
   0 made; 1 not made, such as where a file is there; 2 wrong usage`

func keyCommand() *cli.Command {
	return &cli.Command{
		Name: "key", Usage: "make the key of a fleet", ArgsUsage: "FILE", Description: keyHelp,
		Action: func(_ context.Context, c *cli.Command) error {
			if err := arguments(c, 1, 1); err != nil {
				return err
			}
			k, err := seal.MakeFile(c.Args().First())
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Root().Writer, "%s: the key of fleet %s; every host of it gets a copy, and nobody else\n", c.Args().First(), k.Fleet())
			return nil
		},
	}
}
