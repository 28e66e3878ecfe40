package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
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
	v := view.Cancelled{Version: 1, Run: run, Status: out.Status, Already: before.Status.Terminal(), Reason: cmp.Or(out.Text, out.Detail), Next: []string{}}
	v.Unknown = view.NewUnknowns(out.Undecided)
	for i := range v.Unknown {
		if out.Unread {
			v.Unknown[i].Next = []string{}
		}
	}
	v.Next = append(v.Next, view.DecideCommands(v.Unknown)...)
	code := view.ExitFailed
	switch {
	case out.Status == recovery.StatusCancelled:
		code = view.ExitDone
	case !out.Status.Terminal():
		code = view.ExitInterrupted
		v.Next = []string{"agent cancel " + run}
	}
	s.print(v)
	return withCode(code)
}

func (s cancelling) print(v view.Cancelled) {
	a := s.app
	s.settleOutput()
	if s.c.Bool("json") {
		a.PrintJSON(v)
		return
	}
	switch {
	case v.Status == recovery.StatusCancelled && v.Already:
		a.Say(a.Err, "run %s was %s before", v.Run, cancelled(v.Reason))
	case v.Status == recovery.StatusCancelled:
		a.Say(a.Err, "run %s is %s", v.Run, cancelled(v.Reason))
	case v.Status.Terminal():
		a.Say(a.Err, "run %s is %s: there is nothing to cancel", v.Run, v.Status)
	default:
		a.Say(a.Err, "run %s is %s; its end is asked for and kept", v.Run, v.Status)
	}
	for _, u := range v.Unknown {
		a.Say(a.Err, "%s", u.Line())
	}
}

// cancelled is the reason of a cancelled run, which says the word in most cases.
func cancelled(reason string) string {
	if strings.HasPrefix(reason, "cancelled") {
		return reason
	}
	return "cancelled: " + reason
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
	if s.c.Bool("json") {
		s.app.PrintJSON(v)
		return nil
	}
	word := "is"
	if v.Already {
		word = "was"
	}
	s.app.Say(s.app.Err, "request %s of run %s %s withdrawn", id, row.Run, word)
	if len(v.Next) > 0 {
		s.app.Say(s.app.Err, "go on with: %s", v.Next[0])
	}
	return nil
}

// settleOutput waits until the activity is shown, which comes before what a command prints last.
func (s *session) settleOutput() {
	s.Hub.Close()
	s.show.Wait()
}

// find completes an id of one of the kinds. What is typed without a type is looked for in the order
// of the kinds.
func (s *session) find(ctx context.Context, text string, kinds ...byte) (kind byte, id string, err error) {
	defer func() {
		if kind == 'r' {
			s.app.about = id
		}
	}()
	if s.app.dir != "" {
		id, err := s.newestHere(ctx, text)
		return 'r', id, err
	}
	typed := strings.ToLower(strings.TrimSpace(text))
	for _, k := range kinds {
		if strings.HasPrefix(typed, string(k)+"-") {
			id, err := s.Store.Find(ctx, k, text)
			return k, id, err
		}
	}
	var first error
	for _, k := range kinds {
		id, err := s.Store.Find(ctx, k, text)
		var unknown *app.UnknownIDError
		if !errors.As(err, &unknown) {
			return k, id, err
		}
		if first == nil {
			first = err
		}
	}
	return 0, "", first
}

// noState words the refusal of a command that needs something to be there.
func noState(err error, what string) error {
	if errors.Is(err, app.ErrNoState) {
		return fmt.Errorf(`%s: nothing was run yet; agent run "prompt" starts a run`, what)
	}
	return err
}
