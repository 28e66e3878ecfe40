package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"agent/fleet/seal"
)

const keyHelp = `Makes the key of a fleet, in a file that only you can read: in
agent-fleet/key of your folder of configuration, where no FILE is named.
Every host of the fleet gets a copy of it. With it everything of the fleet is
sealed: what a log or an engine holds cannot be read without it, nor can it
be made again.

EXAMPLE
   agent-fleet key
   agent-fleet key /etc/agent-fleet/key

EXIT STATUS
   0 made; 1 not made, such as where a file is there; 2 wrong usage`

func keyCommand() *cli.Command {
	return &cli.Command{
		Name: "key", Usage: "make the key of a fleet", ArgsUsage: "[FILE]", Description: keyHelp,
		Action: func(_ context.Context, c *cli.Command) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			path, err := c.Args().First(), error(nil)
			if path == "" {
				path, err = keyFile(c)
			}
			if err == nil {
				err = os.MkdirAll(filepath.Dir(path), 0o700)
			}
			if err != nil {
				return fmt.Errorf("make a key: %w", err)
			}
			k, err := seal.MakeFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout(c), "%s: the key of fleet %s; every host of it gets a copy, and nobody else\n", path, k.Fleet())
			return nil
		},
	}
}
