package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"agent/host/demo"
)

const demoHelp = `Shows in six seconds what a kill does to a run: nothing. It starts a runbook of
three commands in a folder of its own, kills the process that drives it in the
middle of the second one, resumes the run, and prints the file in which each
command left a line. It needs no key and no network, and touches none of your
runs. With --keep the folder stays.

EXAMPLE
   agent demo
   agent demo --keep

EXIT STATUS
   0 each line is there once, 1 something is not as promised, 2 wrong usage`

type demoCommand struct{ *commandLine }

func (a demoCommand) command() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "show how a run survives kill -9", Description: demoHelp, Action: a.run,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "keep", Usage: "keep the folder, and print its name"}},
	}
}

func (a demoCommand) run(ctx context.Context, c *cli.Command) (err error) {
	exe, exeErr := os.Executable()
	if err := errors.Join(noArguments(c), exeErr); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "agent-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() {
		if c.Bool("keep") {
			a.Say(a.Err, "kept: %s (its runs: AGENT_HOME=%s/state agent ls)", folder, folder)
		} else if gone := os.RemoveAll(folder); gone != nil {
			err = errors.Join(err, fmt.Errorf("demo: remove its folder: %w", gone))
		}
	}()
	return demo.Demo{Exe: exe, Out: a.Inherited(), Folder: folder}.Run(ctx)
}
