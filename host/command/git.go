package command

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/githook"
	"agent/host/view"
)

const gitHelp = `Has git add one line to your commits that hold work of a run, which names the
checkpoint: Agent-Checkpoint: k-6b0d81kq7xw2. Commits that runs make have it
anyway where git is 2.54 or newer. The line is for people and other machines;
which commit belongs to which run is known without it.

on adds a section to the repository's configuration; with an older git it
writes the hooks prepare-commit-msg and commit-msg where there are none, and
otherwise prints the lines for you to add. No file is replaced. off removes
exactly what on added. status, or no word, shows what is on and what else
runs. Merges, reverts, cherry-picks, rebases and squashes get no new line, a
line that you delete stays away, and a commit never fails because of it.

EXAMPLE
   agent git on
   agent git status --json
   agent git off --dir ~/site

EXIT STATUS
   0 done or shown, 1 refused, or there are lines for you to add, 2 wrong
   usage`

type gitCommand struct{ *commandLine }

func (a gitCommand) command() *cli.Command {
	return &cli.Command{
		Name: "git", Usage: "have git name checkpoints in your commits", ArgsUsage: "[on | off | status]",
		Description: gitHelp, Action: a.run,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: "the repository of `FOLDER` (default: of the current one)"},
			jsonFlag(),
		},
	}
}

func (a gitCommand) run(_ context.Context, c *cli.Command) error {
	what := c.Args().First()
	if what == "" {
		what = "status"
	}
	if c.Args().Len() > 1 || !slices.Contains([]string{"on", "off", "status"}, what) {
		return app.Usage(errors.New("say on, off or status: agent git on"))
	}
	folder, err := a.folder(c.String("dir"))
	if err != nil {
		return err
	}
	v, err := githook.Do(what, folder)
	if err != nil {
		return err
	}
	a.print(c, v, func() { err = v.Write(a.Out, a.Tilde) })
	if err == nil && len(v.Add) > 0 {
		err = withCode(view.ExitFailed)
	}
	return err
}
