package command

import "github.com/urfave/cli/v3"

// commands lists the commands in the order in which help shows them: what is done every day comes first.
func (a *app) commands() []*cli.Command {
	resume := a.resumeCommand()
	resume.ShellComplete = a.completeRuns(unfinished)
	return []*cli.Command{
		a.runCommand(),
		a.lsCommand(),
		a.showCommand(),
		resume,
		a.answerCommand(),
		a.pendingCommand(),
		a.cancelCommand(),
		a.checkpointsCommand(),
		a.toolsCommand(),
		a.doctorCommand(),
		a.versionCommand(),
	}
}
