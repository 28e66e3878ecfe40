package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/serve"
)

const serveHelp = `Serves the runs of the state folder to programs, over HTTP on a unix socket
there, until it is stopped: lists, facts, questions, and what happens as
server-sent events. It takes answers, and asks runs to end. It drives no run:
whatever becomes of it, runs go on. One server serves a state folder.

A program needs the token in the file token of the state folder. See agent
help server.

EXAMPLE
   agent serve
   agent serve &

EXIT STATUS
   0 it was stopped; 1 another process serves already, or the state folder
   cannot be used; 2 wrong usage`

type serveCommand struct{ *commandLine }

func (a serveCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "serve",
		Usage:       "show runs to programs, and take their answers",
		Description: serveHelp,
		Action:      a.run,
	}
}

func (a serveCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	s, err := a.open(ctx, app.Drive) // which makes the state folder
	if errors.Is(err, app.ErrDiskFull) {
		s, err = a.open(ctx, app.Read)
	}
	if err != nil {
		return err
	}
	s.Who += " (api)"
	server, err := serve.New(serve.Options{
		App: a.App, Folder: s.Folder, Say: func(format string, args ...any) { a.Say(a.Err, format, args...) },
	})
	if err != nil {
		return errors.Join(err, s.close())
	}
	err = server.Serve(ctx)
	if ctx.Err() != nil && err == nil {
		a.Say(a.Err, "the server has ended (%s)%s", context.Cause(ctx), a.goesOn(s))
	}
	return errors.Join(err, s.close())
}

// goesOn says which runs a server leaves as they are.
func (a serveCommand) goesOn(s *session) string {
	rows, err := s.Store.Alive(context.Background())
	if err != nil || len(rows) == 0 {
		return "; no run is touched by that"
	}
	text := "; not touched by that:"
	for _, r := range rows {
		text += fmt.Sprintf(" %s (%s)", r.ID, r.Status)
	}
	return text
}
