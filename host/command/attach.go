package command

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/follow"
	"agent/host/launch"
	"agent/host/view"
	"agent/recovery/journal"
)

const attachHelp = `Shows a run from its beginning and goes on with what happens now, in whatever
process it is driven, and puts its questions to you here. What you answer is
recorded first; a run that nobody drives then goes on in the background.

Ctrl-C leaves, and does not touch the run: agent cancel ends it. Several
terminals can watch a run at once; a question is answered by one of them.

EXAMPLE
   agent attach last
   agent attach r-7k2m

EXIT STATUS
   0 left, or done; otherwise that of the run: 1 failed, 3 waiting for an
   answer, 4 interrupted, 5 a call's outcome is unknown and nobody has
   decided on it, 6 cancelled; 1 refused, 2 wrong usage`

type attachCommand struct{ *commandLine }

func (a attachCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "attach",
		Usage:       "watch a run and answer its questions",
		ArgsUsage:   "<run> | last",
		Description: attachHelp,
		Flags:       []cli.Flag{a.thinkingFlag()},
		Action:      a.run,
	}
}

func (a attachCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return app.Usage(errors.New("name one run: agent attach last"))
	}
	opened, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "attach "+c.Args().First())
	}
	s := attached{showing{opened, c}}
	_, run, err := s.find(ctx, c.Args().First(), 'r')
	if err == nil {
		s.askHere(c)
		err = s.follow(ctx, run, s.person)
	}
	return errors.Join(err, s.close())
}

// attached watches a run and answers its questions.
type attached struct{ showing }

// person has questions be put to the terminal, where there is one and their answers can be
// recorded, and the person there be called.
func (s attached) person(f *follow.Follower) {
	if s.Env.Ask != nil && s.CanWrite() {
		f.Ask(s.ask)
	}
	f.Notify(s.notices())
}

func (s attached) ask(ctx context.Context, run string, r journal.Request) (left bool, err error) {
	raw, err := s.Env.Ask(ctx, run, r)
	if errors.Is(err, host.ErrLeftOpen) {
		return true, nil
	}
	if err == nil {
		err = s.give(ctx, r, raw)
	}
	return false, err
}

// give records an answer and has the run go on, here only as far as it is seen.
func (s attached) give(ctx context.Context, r journal.Request, raw json.RawMessage) error {
	var at *launch.Accepted
	carrier, err := s.carrier()
	if err != nil {
		return err
	}
	_, err = s.Answer(ctx, r.ID, raw, carrier.GoOn(&at))
	var conflict *app.ConflictError
	if errors.As(err, &conflict) {
		s.app.Say(s.app.Err, "agent: %v", err)
		return nil // another window was first, and the run goes on with that
	}
	if at != nil {
		s.app.Say(s.app.Err, "%s", view.NewDetached(at.Run, at.Thread, at.Process).Text())
	}
	return err
}
