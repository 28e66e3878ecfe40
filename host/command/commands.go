package command

import "github.com/urfave/cli/v3"

func (a *app) commands() []*cli.Command {
	return []*cli.Command{
		a.runCommand(),
		a.resumeCommand(),
	}
}
