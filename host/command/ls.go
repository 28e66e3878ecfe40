package command

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/search"
	"agent/host/view"
)

const lsHelp = `Lists runs from the newest to the oldest: without a flag the 20 newest and
everything interrupted or waiting. Each line ends with the command that
brings the run forward. Questions are compared with their digests; what else
stands here comes from the list of runs, which agent doctor compares with the
record.

--search finds runs that have ended by the words of their prompts, of the
messages that were added, and of their answers, as they are recorded, without
secrets. All words must occur, in any order; the last one may go on ("deploy
prod" finds production); "in quotes" they stand side by side.
--search, --name, --status, --since and --dir go together; the 20 newest are
listed, all with --all.

Of a rewind the status says what it takes back, such as "undo of r-7k2m", and
of a run that was taken back, by which one: "taken back by r-9x3f".

A run may have others carry out tasks (delegate). They are not listed, but
counted: "2 of 3 child runs done". With --children they stand below it.

EXAMPLE
   agent ls
   agent ls --children
   agent ls --interrupted
   agent ls --search 'parser "race condition"' --since 7d
   agent ls --status failed,cancelled --dir .
   agent ls --name 'nightly*' --all --json

EXIT STATUS
   0 listed, also when there is nothing; 1 the state folder cannot be used;
   2 wrong usage`

// nothingYet is the list of runs before the first.
const nothingYet = `no runs yet: agent run "prompt" starts one`

type lsCommand struct{ *commandLine }

func (a lsCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "ls",
		Usage:       "list runs",
		Description: lsHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "interrupted", Usage: "only runs that can be resumed"},
			&cli.BoolFlag{Name: "waiting", Usage: "only runs that wait for a person"},
			&cli.BoolFlag{Name: "all", Usage: "every run"},
			&cli.BoolFlag{Name: "children", Usage: "below each run also those that it has made"},
		}, search.Flags(), []cli.Flag{jsonFlag()}),
		Action: a.run,
	}
}

func (a lsCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	f := app.Filter{Interrupted: c.Bool("interrupted"), Waiting: c.Bool("waiting"), All: c.Bool("all")}
	if f.All && (f.Interrupted || f.Waiting) {
		return app.Usage(errors.New("give --all, or --interrupted and --waiting"))
	}
	wanted, err := search.Read(c, f)
	if err != nil {
		return err
	}
	v := view.Runs{Version: 1, Runs: []view.Run{}}
	s, err := a.open(ctx, app.Read)
	switch {
	case errors.Is(err, app.ErrNoState):
		a.print(c, v, func() { a.Runs(v, nothingYet) })
		return nil
	case err != nil:
		return err
	}
	if wanted == nil {
		v.Runs, v.Older, err = s.List(ctx, f)
	} else {
		v.WithOlder = "the same with --all"
		v.Runs, v.Older, err = search.List(ctx, s.Folder, *wanted, func(format string, args ...any) { a.Say(a.Err, "agent: "+format, args...) })
	}
	if err == nil && c.Bool("children") {
		err = app.AddChildren(ctx, s.Folder, v.Runs, false)
	}
	if err == nil {
		if b := s.Store.Behind(); b != nil {
			v.Behind = b.What
		}
		nothing := a.nothingListed(f)
		if wanted != nil {
			nothing = search.Nothing(c) + a.inFolder()
		}
		if v.Behind != "" {
			nothing = "no such run is in this database"
		}
		a.print(c, v, func() { a.Runs(v, nothing) })
	}
	return errors.Join(err, s.unlessBehind(), s.close())
}

func (a lsCommand) nothingListed(f app.Filter) string {
	where := a.inFolder()
	switch {
	case f.Interrupted && f.Waiting:
		return "no run is interrupted or waiting" + where
	case f.Interrupted:
		return "no run is interrupted" + where
	case f.Waiting:
		return "no run waits for a person" + where
	case where != "":
		return "no run was started" + where
	}
	return nothingYet
}
