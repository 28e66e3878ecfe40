package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host"
	"agent/recovery"
)

const resumeHelp = `Goes on with a run that was interrupted, from its last checkpoint. What finished is replayed from the record and not
executed again, what still runs is picked up, and what may or may not have happened is never done a second time.

EXAMPLE
   agent resume last
   agent resume --dry-run r-7k2m
   agent resume --all

EXIT STATUS
   that of the run: 0 done, 1 failed or refused, 3 a person is asked, 4 interrupted,
   5 a person is asked about an unknown outcome, 6 cancelled; with --all the highest; 0 with --dry-run`

// takeoverPatience is how long a holder has to let go before it is ended.
const takeoverPatience = 10 * time.Second

func (a *app) resumeCommand() *cli.Command {
	return &cli.Command{
		Name:        "resume",
		Usage:       "go on with an interrupted run",
		ArgsUsage:   "<run> | last | --all",
		Description: resumeHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every interrupted run, one after the other"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be done, with the reasons, and change nothing"},
			&cli.BoolFlag{Name: "takeover", Usage: "ask the process that drives the run to let go, and end it if it does not"},
			&cli.StringFlag{Name: "mode", Usage: "a tighter `MODE`: plan, ask or auto"},
			&cli.IntFlag{Name: "max-turns", Usage: "a lower limit of `N` turns", HideDefault: true},
			&cli.DurationFlag{Name: "timeout", Usage: "a lower limit of `TIME`", HideDefault: true},
			jsonFlag(),
		},
		Action: a.resume,
	}
}

func (a *app) resume(ctx context.Context, c *cli.Command) error {
	t := host.Tighten{Mode: recovery.Mode(c.String("mode")), MaxTurns: int(c.Int("max-turns")), Timeout: c.Duration("timeout")}
	if err := checkLimits(c); err != nil {
		return err
	}
	if c.Bool("all") == c.Args().Present() || c.Args().Len() > 1 {
		return &usageError{errors.New("name one run (agent resume last), or give --all")}
	}
	how := useDrive
	if c.Bool("dry-run") {
		how = useLook
	}
	s, err := a.open(ctx, how)
	if err != nil {
		return noState(err, "resume")
	}
	switch {
	case c.Bool("all") && c.Bool("dry-run"):
		return errors.Join(s.dryRunAll(ctx, c), s.close())
	case c.Bool("all"):
		return s.resumeAll(ctx, c, t)
	}
	run, err := s.Store.Find(ctx, 'r', c.Args().First())
	if err != nil {
		return errors.Join(err, s.close())
	}
	if c.Bool("dry-run") {
		return errors.Join(s.dryRun(ctx, c, run), s.close())
	}
	if c.Bool("takeover") {
		if err := s.Takeover(ctx, run, takeoverPatience); err != nil {
			return errors.Join(err, s.close())
		}
	}
	s.askHere(c)
	out, err := s.Resume(ctx, run, t, s.showPlan)
	var done *host.FinishedError
	if errors.As(err, &done) {
		out, err = s.Finished(done.State), nil
	}
	return s.report(c, out, err)
}

// resumeAll goes on with every interrupted run. One that brought nothing forward several times in a row is left alone.
func (s *session) resumeAll(ctx context.Context, c *cli.Command, t host.Tighten) error {
	rows, err := s.Store.Runs(ctx, db.Filter{Interrupted: true})
	code := exitDone
	s.askHere(c)
	for _, row := range rows {
		if ctx.Err() != nil {
			break
		}
		if row.Fruitless >= host.MaxFruitless {
			fmt.Fprintf(s.app.Err, "agent: run %s is left alone: %d resumes in a row brought nothing forward; try it by name: agent resume %s\n",
				row.ID, row.Fruitless, row.ID)
			code = max(code, exitInterrupted)
			continue
		}
		out, runErr := s.Resume(ctx, row.ID, t, s.showPlan)
		if runErr != nil {
			code = max(code, s.app.exit(runErr))
			continue
		}
		code = max(code, s.print(c, out))
	}
	return errors.Join(err, s.close(), withCode(code))
}

// dryRunAll prints the plan of each run that a resume of all would go on with.
func (s *session) dryRunAll(ctx context.Context, c *cli.Command) error {
	rows, err := s.Store.Runs(ctx, db.Filter{Interrupted: true})
	runs := s.lost
	for _, row := range rows {
		if row.Fruitless < host.MaxFruitless {
			runs = append(runs, row.ID)
		}
	}
	for _, run := range runs {
		err = errors.Join(err, s.dryRun(ctx, c, run))
	}
	return err
}

func (s *session) dryRun(ctx context.Context, c *cli.Command, run string) error {
	p, err := s.DryRun(ctx, run)
	var done *host.FinishedError
	if errors.As(err, &done) {
		fmt.Fprintf(s.app.Out, "run %s is %s: nothing to do\n", run, done.State.Status)
		return nil
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		s.app.printJSON(planView(p))
		return nil
	}
	s.printPlan(s.app.Out, p)
	return nil
}
