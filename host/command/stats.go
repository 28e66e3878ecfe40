package command

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/flags"
	"agent/host/report"
	"agent/host/stats"
	"agent/host/view"
	"agent/recovery/fault"
)

const statsHelp = `Adds up what runs used, by model and by folder: runs, turns, calls, tokens
read and written, what that cost, and how long they were driven. It reads the
record of each run, which takes a while where there are many.

Each run counts once, with what it used itself: a run that another has made
(BELOW) in the line of its own model, and in that of the folder of the run
that a person started. The time of a folder, and the total, is that of the
runs that people started, while which those below them were driven. A run
whose model was changed counts for the last one.

The cost is unknown where a model has no known price: agent models. "about"
stands where a request brought no answer, so that its tokens are estimated.

EXAMPLE
   agent stats
   agent stats --since 7d
   agent stats --since 2026-11-01 --dir . --json

EXIT STATUS
   0 printed, also when there is nothing; 1 the state folder, or the record
   of a run, cannot be read; 2 wrong usage`

type statsCommand struct{ *commandLine }

func (a statsCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "add up tokens, cost and time of runs",
		Description: statsHelp,
		Flags:       []cli.Flag{flags.SinceFlag(), jsonFlag()},
		Action:      a.run,
	}
}

func (a statsCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	since, err := flags.ReadSince(c, fault.Now())
	if err != nil {
		return err
	}
	s, err := a.open(ctx, app.Read)
	switch {
	case errors.Is(err, app.ErrNoState):
		v := stats.Nothing()
		a.print(c, v, func() { report.Stats(&a.Terminal, v, a.inFolder()) })
		return nil
	case err != nil:
		return err
	}
	v, err := stats.Read(ctx, s.Folder, stats.Wanted{Since: since, Progress: func(done, all int) {
		a.Say(a.Err, "agent: %d of %s read", done, view.Count(all, "run"))
	}})
	if err == nil {
		a.print(c, v, func() {
			where := a.inFolder()
			if when := c.String("since"); when != "" {
				where += " since " + when
			}
			report.Stats(&a.Terminal, v, where)
		})
		for _, run := range v.Unread {
			a.Say(a.Err, "agent: the record of run %s cannot be read, so what it used is not counted: agent doctor", run)
		}
		if len(v.Unread) > 0 {
			err = withCode(view.ExitFailed)
		}
	}
	return errors.Join(err, s.unlessBehind(), s.close())
}
