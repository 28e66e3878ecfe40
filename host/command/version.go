package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/view"
)

const versionHelp = `Prints the version of this binary. It opens nothing and reads nothing.

EXAMPLE
   agent version
   agent version --json

EXIT STATUS
   0 printed, 2 wrong usage`

type versionCommand struct{ *commandLine }

func (a versionCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of this binary",
		Description: versionHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.run,
	}
}

func (a versionCommand) run(_ context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	return a.printVersion(c.Bool("json"))
}

func (a versionCommand) printVersion(asJSON bool) error {
	v := view.NewVersion(Version, Revision)
	if asJSON {
		a.PrintJSON(v)
		return nil
	}
	a.Say(a.Out, "%s", v.Text())
	return nil
}

// noArguments refuses what a command would otherwise ignore silently.
func noArguments(c *cli.Command) error {
	if c.Args().Present() {
		return app.Usage(fmt.Errorf("agent %s takes no argument: %q", c.Name, c.Args().First()))
	}
	return nil
}
