package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/report"
	"agent/host/view"
)

const tellHelp = `Leaves a message for the model of a run that has not ended. It is durable when
this returns, and the model gets it once, with its next request: between two
turns, and before the run ends. A command that is under way is not stopped for
it, and no question is answered by it. A run that is interrupted, or waits,
takes it when it goes on.

- as the message reads it from standard input.

EXAMPLE
   agent tell last "leave the tests as they are"
   agent tell r-7k2m - <note.txt

EXIT STATUS
   0 the message is kept; 1 refused: the run has ended, or has no model;
   2 wrong usage`

type tellCommand struct{ *commandLine }

func (a tellCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "tell",
		Usage:       "tell the model of a run something while it works",
		ArgsUsage:   `<run> "message" | last "message"`,
		Description: tellHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.run,
	}
}

func (a tellCommand) run(ctx context.Context, c *cli.Command) error {
	switch n := c.Args().Len(); {
	case n == 0:
		return app.Usage(errors.New(`name one run, and what to tell its model: agent tell last "leave the tests as they are"`))
	case n == 1:
		return app.Usage(fmt.Errorf(`say what to tell the model: agent tell %s "leave the tests as they are"`, c.Args().First()))
	case n > 2:
		return app.Usage(errors.New("give the message as one argument: put it in quotes"))
	}
	text, err := a.message(c.Args().Get(1))
	if err != nil {
		return err
	}
	opened, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "tell "+c.Args().First())
	}
	err = a.tell(ctx, c, opened, text)
	return errors.Join(err, opened.close())
}

// message is what was typed, or piped in.
func (a tellCommand) message(typed string) (string, error) {
	if typed != "-" {
		return typed, nil
	}
	piped, err := io.ReadAll(a.In)
	if err != nil {
		return "", fmt.Errorf("read the message from standard input: %w", err)
	}
	return strings.TrimSpace(string(piped)), nil
}

func (a tellCommand) tell(ctx context.Context, c *cli.Command, s *session, text string) error {
	_, run, err := s.find(ctx, c.Args().First(), 'r')
	if err == nil {
		err = s.MustWrite("tell run " + run)
	}
	if err != nil {
		return err
	}
	told, err := host.Tell(ctx, s.Host, run, text)
	if err != nil {
		return err
	}
	v := view.NewTold(told, text)
	s.settleOutput()
	a.print(c, v, func() { report.Told(&a.Terminal, v) })
	return nil
}
