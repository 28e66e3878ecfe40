package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/flags"
	"agent/host/lines"
	"agent/host/moves"
	"agent/host/pick"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

const resumeHelp = `Continues a run that was interrupted, from its last checkpoint. What finished
is replayed from the record and not executed again, what still runs is picked
up, and what may or may not have happened is never done a second time: its
outcome is unknown, and you decide. See agent help recovery.

Without a run, those of this folder that can be resumed are listed, to pick
one. last is the newest of them; --any looks in all folders. A message is for
the model, before its next answer. With a run that is named, --dir says where
its folder is now. With --detach the run goes on in the background: see agent
help background.

EXAMPLE
   agent resume
   agent resume last
   agent resume r-7k2m "leave the tests as they are"
   agent resume r-7k2m --model anthropic/claude-sonnet-5-5
   agent resume r-7k2m --dir ~/moved/site
   agent resume --dry-run r-7k2m
   agent resume --all --dir .
   agent resume --all --detach

EXIT STATUS
   that of the run: 0 done, 1 failed or refused, 3 waiting for an answer,
   4 interrupted, 5 a call's outcome is unknown and nobody has decided on it,
   6 cancelled; with --all the highest; 0 with --dry-run, and with
   --detach once it is going`

// takeoverPatience is how long a holder has to let go before it is ended.
const takeoverPatience = 10 * time.Second

type resumeCommand struct{ *commandLine }

func (a resumeCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "resume",
		Usage:       "continue an interrupted run",
		ArgsUsage:   `[<run> ["message"] | last ["message"] | --all]`,
		Description: resumeHelp,
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every interrupted run, one after the other"},
			&cli.BoolFlag{Name: "any", Usage: "with last, and without a run: runs of all folders, not of this one alone"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be done, with the reasons, and change nothing"},
			&cli.BoolFlag{Name: "reclaim", Usage: "take a run back that agent export --move sent away: each call that acts asks first"},
			&cli.BoolFlag{Name: "takeover", Usage: "ask the process that drives the run to let go, and end it if it does not"},
		}, flags.ResumeLimits(), flags.ResumeModel(), []cli.Flag{outputFlag(), refusalFlag(), detachFlag(), noRecoverFlag(), a.thinkingFlag(), jsonFlag(), lines.Flag()}),
		Action: a.run,
	}
}

func (a resumeCommand) run(ctx context.Context, c *cli.Command) error {
	app.CollectLater()
	name, t, err := a.readResume(c)
	if err != nil {
		return err
	}
	how := app.Drive
	switch {
	case c.Bool("dry-run") && c.Bool("detach"):
		return app.Usage(errors.New("give --dry-run or --detach, not both"))
	case c.Bool("dry-run"):
		how = app.DryRun
	case a.detached(c) && !c.Bool("all"):
		return a.detach(ctx, c, name)
	}
	opened, err := a.open(ctx, how)
	if err != nil {
		return noState(err, "resume")
	}
	s := &resuming{opened, c, t}
	switch {
	case c.Bool("all") && c.Bool("dry-run"):
		return errors.Join(s.dryRunAll(ctx), s.close())
	case c.Bool("all") && a.detached(c):
		return s.each(ctx, s.detachNext)
	case c.Bool("all"):
		s.askHere(c)
		return s.each(ctx, s.next)
	}
	run, err := s.toResume(ctx, name, c.Bool("takeover"))
	if err == nil {
		err = s.carryOn(ctx, c, func(r app.RunRow) bool { return r.ID == run })
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	if err := errors.Join(s.looser(ctx, run), s.recordOn(ctx, c, run), s.changeModel(ctx, run)); err != nil {
		return errors.Join(err, s.close())
	}
	if c.Bool("dry-run") {
		return errors.Join(s.dryRun(ctx, run), s.close())
	}
	if c.Bool("takeover") {
		if err := s.redoable(ctx, run); err != nil {
			return errors.Join(err, s.close())
		}
		if err := s.Takeover(ctx, run, s.changes, takeoverPatience); err != nil {
			return errors.Join(err, s.close())
		}
	}
	s.askHere(c)
	out, err := s.Resume(ctx, run, s.changes, s.showPlan)
	var done *host.FinishedError
	if errors.As(err, &done) {
		out, err = s.Finished(done.State), nil
	}
	return s.report(c, out, err)
}

// reclaim takes a run back that went to another store.
func (s *resuming) reclaim(ctx context.Context, run string) error {
	if s.c.Bool("dry-run") {
		return app.Usage(errors.New("--reclaim takes the run back, which --dry-run does not"))
	}
	return moves.Reclaim(ctx, s.Folder, run)
}

// resuming goes on with runs, with what changes for them.
type resuming struct {
	*session
	c       *cli.Command
	changes host.Changes
}

// each has every interrupted run go on by next, which returns what JSON says of it and its exit
// code. One that brought nothing forward several times in a row is left alone.
func (s *resuming) each(ctx context.Context, next func(context.Context, app.RunRow) (any, int)) error {
	rows, _, err := s.RunsIn(ctx, app.Filter{Interrupted: true})
	rows = slices.DeleteFunc(rows, func(r app.RunRow) bool { return r.Cause == journal.CauseMoved })
	v := view.Resumed{Version: 1, Runs: []any{}}
	s.several = len(rows) > 1
	for _, row := range rows {
		if ctx.Err() != nil {
			break
		}
		one, code := s.unlessAlone(ctx, row, next)
		s.app.lines.Print(one)
		v.Runs, v.ExitCode = append(v.Runs, one), max(v.ExitCode, code)
	}
	switch {
	case err != nil:
	case s.c.Bool("json"):
		s.app.PrintJSON(v)
	case len(rows) == 0:
		s.app.Say(s.app.Err, "nothing is interrupted%s", s.app.inFolder())
	}
	return errors.Join(err, s.close(), withCode(v.ExitCode))
}

// unlessAlone is next for a run that is not left alone.
func (s *resuming) unlessAlone(ctx context.Context, row app.RunRow, next func(context.Context, app.RunRow) (any, int)) (any, int) {
	left := view.LeftAlone(row)
	if left == nil {
		return next(ctx, row)
	}
	s.app.Say(s.app.Err, "agent: %v", left)
	v := refusal(left, row.ID, view.ExitInterrupted)
	v.Next = []string{"agent resume " + row.ID}
	return v, view.ExitInterrupted
}

// next goes on with one of several runs here.
func (s *resuming) next(ctx context.Context, row app.RunRow) (any, int) {
	err := s.looser(ctx, row.ID)
	var out host.Outcome
	if err == nil {
		out, err = s.Resume(ctx, row.ID, s.changes, s.showPlan)
	}
	var done *host.FinishedError
	if errors.As(err, &done) { // it came to its end since it was listed
		out, err = s.Finished(done.State), nil
	}
	if err != nil {
		code := s.app.exit(err)
		return refusal(err, row.ID, code), code
	}
	s.app.drove = true
	s.settle()
	if !s.c.Bool("json") {
		s.print(out)
	}
	code := outcomeCode(s.c, out)
	return s.Folder.Outcome(out, code), code
}

// dryRunAll prints the plan of each run that a resume of all would go on with.
func (s *resuming) dryRunAll(ctx context.Context) error {
	rows, _, err := s.RunsIn(ctx, app.Filter{Interrupted: true})
	runs, lostErr := s.LostIn(ctx)
	err = errors.Join(err, lostErr)
	for _, row := range rows {
		if row.Fruitless < host.MaxFruitless {
			runs = append(runs, row.ID)
		}
	}
	v := view.Plans{Version: 1, Runs: []view.Plan{}}
	for _, run := range runs {
		p, planErr := s.plan(ctx, run)
		if err = errors.Join(err, planErr); planErr != nil {
			continue
		}
		v.Runs = append(v.Runs, view.NewPlan(p))
		if !s.c.Bool("json") {
			s.printPlan(s.app.Out, p)
		}
	}
	switch {
	case s.c.Bool("json"):
		s.app.PrintJSON(v)
	case len(runs) == 0:
		s.app.Say(s.app.Err, "nothing is interrupted%s", s.app.inFolder())
	}
	return err
}

// dryRun prints what a resume of the run would do.
func (s *resuming) dryRun(ctx context.Context, run string) error {
	p, err := s.plan(ctx, run)
	switch {
	case err != nil:
		return err
	case s.c.Bool("json"):
		s.app.PrintJSON(view.NewPlan(p))
	default:
		s.printPlan(s.app.Out, p)
	}
	return nil
}

// plan is what a resume of the run would do: nothing, where the run has ended.
func (s *resuming) plan(ctx context.Context, run string) (host.Plan, error) {
	p, err := s.DryRun(ctx, run, s.changes)
	var done *host.FinishedError
	if errors.As(err, &done) {
		return host.Plan{Run: run, Then: fmt.Sprintf("nothing: run %s is %s", run, done.State.Status)}, nil
	}
	return p, err
}

// toResume is the run that a resume names.
func (s *resuming) toResume(ctx context.Context, text string, takeover bool) (string, error) {
	if text == "" {
		return s.picked(ctx)
	}
	if strings.ToLower(strings.TrimSpace(text)) != "last" {
		_, run, err := s.find(ctx, text, 'r')
		if err == nil && s.c.Bool("reclaim") {
			err = s.reclaim(ctx, run)
		}
		return run, err
	}
	folder, err := s.lookIn()
	if err != nil {
		return "", err
	}
	s.app.about, err = pick.LastToResume(ctx, s.Folder, folder, takeover)
	return s.app.about, err
}

// lookIn is the folder whose runs are meant; "" for all.
func (s *resuming) lookIn() (string, error) {
	if s.c.Bool("any") {
		return "", nil
	}
	folder, err := s.app.only()
	if err == nil && folder == "" {
		folder, err = s.app.folder("")
	}
	return folder, err
}

// picked is the run that the person picks from those that can be resumed. Where nobody is there to
// pick, they are listed.
func (s *resuming) picked(ctx context.Context) (string, error) {
	folder, err := s.lookIn()
	if err != nil {
		return "", err
	}
	rows, err := pick.ToResume(ctx, s.Folder, folder)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return pick.LastToResume(ctx, s.Folder, folder, false) // which says why, and what there is instead
	}
	now := fault.Now()
	var lines []string
	for _, row := range rows {
		v := view.NewRun(row, now)
		line := fmt.Sprintf("%s  %s, %s old: %s", v.ID, v.StatusText(now), view.Age(now, v.Created), view.PromptStart(v.Prompt))
		if folder == "" {
			line += "  in " + s.app.Tilde(v.Folder)
		}
		lines = append(lines, line)
	}
	if s.askHere(s.c); s.Env.Ask == nil {
		return "", app.Usage(fmt.Errorf("resume: name one run:\n    agent resume %s", strings.Join(lines, "\n    agent resume ")))
	}
	t, err := s.app.Desk.Open()
	if err != nil {
		return "", err
	}
	defer t.Close()
	i, err := t.Pick(ctx, "which run is to go on?", lines)
	if errors.Is(err, terminal.ErrLeftOpen) {
		return "", errors.New("resume: no run was picked")
	}
	if err != nil {
		return "", fmt.Errorf("resume: %w", err)
	}
	return rows[i].ID, nil
}
