package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"
)

// commands lists the commands in the order in which help shows them: what is done every day comes first.
func (a *app) commands() []*cli.Command {
	resume := a.resumeCommand()
	resume.ShellComplete = a.completeRuns(unfinished)
	list := []*cli.Command{
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
	for _, c := range list {
		c.OnUsageError = wrongUsage // it is not inherited, and without it the error would come with the whole help
	}
	return list
}

func wrongUsage(_ context.Context, c *cli.Command, err error, _ bool) error {
	return usage(fmt.Errorf("%w; see agent %s --help", err, c.Name))
}
