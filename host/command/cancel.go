package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/pick"
	"agent/host/report"
	"agent/host/view"
	"agent/recovery"
)

const cancelHelp = `Ends a run, whatever it is doing: a command that it runs is stopped with
everything that it started, its calls are settled, and what may have happened
is printed. A question is withdrawn: its call is informed that nobody will
answer.

EXAMPLE
   agent cancel last
   agent cancel p-3f9x

EXIT STATUS
   0 the run is cancelled, or was already; 1 it ended before, or was refused;
   2 wrong usage; 4 it is asked for and not yet done`

type cancelCommand struct{ *commandLine }

func (a cancelCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "cancel",
		Usage:       "end a run, or withdraw a question",
		ArgsUsage:   "<run> | <pending-id> | last",
		Description: cancelHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.run,
	}
}

func (a cancelCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return app.Usage(errors.New("name one run or one request: agent cancel last"))
	}
	opened, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "cancel "+c.Args().First())
	}
	s := cancelling{opened, c}
	kind, id, err := s.find(ctx, c.Args().First(), 'r', 'p')
	if err == nil {
		err = s.MustWrite("cancel " + id)
	}
	switch {
	case err != nil:
	case kind == 'p':
		err = s.withdraw(ctx, id)
	default:
		err = s.run(ctx, id)
	}
	return errors.Join(err, s.close())
}

// cancelling ends a run, or withdraws a question.
type cancelling struct {
	*session
	c *cli.Command
}

func (s cancelling) run(ctx context.Context, run string) error {
	before, err := s.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	if who, busy, err := s.Owner(run); err == nil && busy && !before.Status.Terminal() {
		s.app.Say(s.app.Err, "asking %s to end run %s", who, run)
	}
	out, err := s.Cancel(ctx, run)
	if err != nil {
		if errors.Is(err, host.ErrCancelKept) { // asked to stop while its owner was waited for
			s.app.Say(s.app.Err, "%v", err)
			return withCode(view.ExitInterrupted)
		}
		return err
	}
	v := view.NewCancelled(run, out, before.Status.Terminal())
	s.settleOutput()
	s.print(v)
	switch {
	case v.Status == recovery.StatusCancelled:
		return nil
	case !v.Status.Terminal():
		return withCode(view.ExitInterrupted)
	}
	return withCode(view.ExitFailed)
}

func (s cancelling) print(v view.Cancelled) {
	s.app.print(s.c, v, func() { report.Cancelled(&s.app.Terminal, v) })
}

func (s cancelling) withdraw(ctx context.Context, id string) error {
	row, err := s.Withdraw(ctx, id)
	var first *app.ConflictError
	if errors.As(err, &first) && first.First.Status == app.RequestCancelled {
		row, err = first.First, nil
	}
	if err != nil {
		return err
	}
	run, err := s.Store.Run(ctx, row.Run)
	if err != nil {
		return err
	}
	v := view.Cancelled{
		Version: 1, Run: row.Run, Request: id, Status: run.Status, Already: first != nil, Unknown: []view.Unknown{}, Next: []string{},
	}
	if run.Status == recovery.StatusInterrupted {
		v.Next = []string{"agent resume " + row.Run}
	}
	s.print(v)
	return nil
}

// settleOutput waits until the activity is shown, which comes before what a command prints last.
func (s *session) settleOutput() {
	s.Hub.Close()
	s.show.Wait()
}

// find completes an id of one of the kinds, as pick.ID does.
func (s *session) find(ctx context.Context, text string, kinds ...byte) (kind byte, id string, err error) {
	kind, id, err = pick.ID(ctx, s.Folder, text, kinds...)
	if kind == 'r' {
		s.app.about = id
	}
	return kind, id, err
}

// noState words the refusal of a command that needs something to be there.
func noState(err error, what string) error {
	if errors.Is(err, app.ErrNoState) {
		return fmt.Errorf(`%s: nothing was run yet; agent run "prompt" starts a run`, what)
	}
	return err
}
