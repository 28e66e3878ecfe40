package command

import "github.com/urfave/cli/v3"

// commands lists the commands in the order in which help shows them: what is done every day comes first.
func (a *app) commands() []*cli.Command {
	return []*cli.Command{
		a.runCommand(),
		a.lsCommand(),
		a.resumeCommand(),
		a.answerCommand(),
		a.pendingCommand(),
		a.cancelCommand(),
		a.checkpointsCommand(),
		a.toolsCommand(),
		a.versionCommand(),
	}
}
