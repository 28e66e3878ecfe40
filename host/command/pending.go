package command

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/view"
)

const pendingHelp = `Lists the questions that wait for a person, with what each answer does and
the command that gives it. With --all also those that were answered,
withdrawn or ran out of time. One whose record does not match its digest is
named and not shown.

EXAMPLE
   agent pending
   agent pending --json

EXIT STATUS
   0 listed, also when nothing is asked; 1 the state folder cannot be used;
   2 wrong usage`

type pendingCommand struct{ *commandLine }

func (a pendingCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "pending",
		Usage:       "list the questions that wait for a person",
		Description: pendingHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "also those that are closed"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a pendingCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	v := view.Requests{Version: 1, Requests: []view.Request{}}
	s, err := a.open(ctx, app.Read)
	switch {
	case errors.Is(err, app.ErrNoState):
		a.print(c, v, func() { a.Requests(v, "no question is open"+a.inFolder()) })
		return nil
	case err != nil:
		return err
	}
	rows, err := s.PendingIn(ctx, c.Bool("all"))
	if err != nil {
		return errors.Join(err, s.close())
	}
	for _, r := range rows {
		asked, readErr := app.Request(ctx, s.Folder, r)
		err = errors.Join(err, readErr)
		v.Requests = append(v.Requests, asked)
	}
	a.print(c, v, func() { a.Requests(v, "no question is open"+a.inFolder()) })
	return errors.Join(err, s.unlessBehind(), s.close())
}
