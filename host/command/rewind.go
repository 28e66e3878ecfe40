package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/commits"
	"agent/host/terminal"
	"agent/host/undo"
	"agent/host/view"
	"agent/recovery/journal"
)

const rewindHelp = `Takes a thread back to a position: files and conversation, or one of them.
Each path that calls changed after it is given back as it was before, unless
somebody else changed it since. What would be done is shown first, and asked.
A rewind is a run of its own: kill it and resume it, or take it back with
agent undo. agent checkpoints lists positions; @0 is before a run, and k-…,
the checkpoint of a commit, is behind the turn that made it. Commits stay.
See agent help undo.

EXAMPLE
   agent rewind r-7k2m@2
   agent rewind last@0 --only files
   agent rewind r-7k2m@2 --dry-run
   agent rewind r-7k2m@2 --overwrite parse/doc.go --yes

EXIT STATUS
   0 done, or nothing was to be done; 1 refused; 2 wrong usage; 3 waiting for
   an answer; 4 interrupted`

const undoHelp = `Takes back what a run did to files and to the conversation: the newest run of
the folder, or the one that is named, with all that came after it in its
thread. It is agent rewind RUN@0, so what it would do is shown first. Of a
rewind it is the way back: agent undo twice changes nothing.

EXAMPLE
   agent undo
   agent undo --yes
   agent undo r-7k2m --only files

EXIT STATUS
   0 done, or nothing was to be done; 1 refused; 2 wrong usage; 3 waiting for
   an answer; 4 interrupted`

type rewindCommand struct{ *commandLine }

func (a rewindCommand) command() *cli.Command {
	return &cli.Command{
		Name: "rewind", Usage: "take a thread back to a position, files and conversation", ArgsUsage: "<run>@<turn> | <checkpoint of a commit>",
		Description: rewindHelp, Flags: rewindFlags(), Action: a.rewind,
	}
}

func (a rewindCommand) undo() *cli.Command {
	return &cli.Command{
		Name: "undo", Usage: "take back what a run did to files and conversation", ArgsUsage: "[<run> | last]",
		Description: undoHelp, Flags: rewindFlags(), Action: a.undoRun,
	}
}

func rewindFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "only", Usage: "take back one `PART`: files or conversation"},
		&cli.StringSliceFlag{Name: "overwrite", Usage: "take back this `PATH` too, although somebody else changed it since"},
		&cli.BoolFlag{Name: "dry-run", Usage: "print what would be done, and change nothing"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do it without a question"},
		&cli.StringFlag{Name: "digest", Usage: "do it only as it was planned: `DIGEST` is that of --dry-run --json"},
		jsonFlag(),
	}
}

func (a rewindCommand) rewind(ctx context.Context, c *cli.Command) error {
	run, turn, err := position(c.Args().Slice())
	if err != nil {
		return app.Usage(err)
	}
	return a.takeBack(ctx, c, "rewind", run, turn)
}

func (a rewindCommand) undoRun(ctx context.Context, c *cli.Command) error {
	run := "last"
	switch {
	case c.Args().Len() > 1:
		return app.Usage(errors.New("name one run: agent undo last"))
	case strings.Contains(c.Args().First(), "@"):
		return app.Usage(fmt.Errorf("undo takes a whole run back; to a position: agent rewind %s", c.Args().First()))
	case c.Args().Present():
		run = c.Args().First()
	}
	return a.takeBack(ctx, c, "undo", run, 0)
}

// ofCommit stands for the turn of a commit's checkpoint, which the store knows.
const ofCommit = -1

// position reads <run>@<turn>, or the checkpoint of a commit.
func position(args []string) (run string, turn int, err error) {
	if len(args) != 1 {
		return "", 0, errors.New("name one position, such as last@2; agent checkpoints last lists them")
	}
	if strings.HasPrefix(args[0], "k-") {
		return args[0], ofCommit, nil
	}
	run, text, ok := strings.Cut(args[0], "@")
	if turn, err = strconv.Atoi(text); !ok || err != nil || turn < 0 || run == "" {
		return "", 0, fmt.Errorf("%s is no position: write a run and a turn, such as last@2; agent checkpoints last lists them", args[0])
	}
	return run, turn, nil
}

func (a rewindCommand) takeBack(ctx context.Context, c *cli.Command, what, name string, turn int) error {
	only := journal.RewindPart(c.String("only"))
	if only != "" && only != journal.RewindFiles && only != journal.RewindConversation {
		return app.Usage(fmt.Errorf("--only %s: there are files and conversation", only))
	}
	how := app.Drive
	if c.Bool("dry-run") {
		how = app.DryRun
	}
	opened, err := a.open(ctx, how)
	if err != nil {
		return noState(err, what)
	}
	s := rewinding{opened, c, what == "undo"}
	if turn == ofCommit {
		at, err := commits.Position(ctx, s.Store, name)
		if err != nil {
			return errors.Join(err, s.close())
		}
		name, turn = at.Run, at.Turn
	}
	_, run, err := s.find(ctx, name, 'r')
	if err == nil && name == "last" {
		run, err = undo.Newest(ctx, &s.Process, run)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	return s.to(ctx, undo.Request{To: journal.Position{Run: run, Turn: turn}, Only: only, Overwrite: c.StringSlice("overwrite")})
}

// rewinding is a rewind on its way to its first fact.
type rewinding struct {
	*session
	c    *cli.Command
	undo bool
}

// print shows a plan.
func (s rewinding) print(p *undo.Plan, v view.Rewind) {
	title := "rewind to " + v.To
	if s.undo {
		title = p.Undo()
	}
	s.app.Rewind(title, v)
}

// to shows the plan, asks where somebody can be asked, and has it carried out.
func (s rewinding) to(ctx context.Context, r undo.Request) error {
	plan, err := undo.Make(ctx, &s.Process, r)
	if err != nil {
		return errors.Join(err, s.close())
	}
	v := plan.View(s.Store.Redact)
	if want := s.c.String("digest"); want != "" && want != v.Digest {
		return errors.Join(&view.PlanChangedError{Plan: v}, s.close())
	}
	if !s.c.Bool("json") {
		s.print(plan, v)
	}
	if s.c.Bool("dry-run") || plan.Empty() {
		if s.c.Bool("json") {
			s.app.PrintJSON(v)
		}
		return s.close()
	}
	s.askHere(s.c)
	yes, err := s.agreed(ctx)
	if err != nil || yes == no {
		if err == nil {
			s.app.Say(s.app.Err, "nothing was changed")
		}
		return errors.Join(err, s.close())
	}
	if plan.Ends != "" {
		if err := s.end(ctx, plan.Ends); err != nil {
			return errors.Join(err, s.close())
		}
		// Its end may have changed files: what is carried out is what is so then.
		if plan, err = undo.Make(ctx, &s.Process, r); err != nil {
			return errors.Join(err, s.close())
		}
		if now := plan.View(s.Store.Redact); now.Digest != v.Digest {
			if !s.c.Bool("json") {
				s.print(plan, now)
			}
			if !s.c.Bool("yes") {
				yes = unasked
			}
		}
	}
	req := plan.Start(yes == agreed)
	if s.app.driver != nil {
		req.Run = s.app.driver.job.Run
	}
	out, err := s.Start(ctx, req)
	return s.report(s.c, out, s.Busy(ctx, err))
}

// end cancels a run that has not ended. Who waits for a driver's answer waits for the rewind.
func (s rewinding) end(ctx context.Context, run string) error {
	heard := s.Claimed
	s.Claimed = nil
	_, err := s.Cancel(ctx, run)
	s.Claimed = heard
	return err
}

// consent is what a person says to a plan.
type consent int

const (
	unasked consent = iota // nobody can be asked here
	agreed
	no
)

// agreed asks the person at the terminal.
func (s rewinding) agreed(ctx context.Context) (consent, error) {
	if s.c.Bool("yes") {
		return agreed, nil
	}
	if s.Env.Ask == nil {
		return unasked, nil
	}
	t, err := s.app.Desk.Open()
	if err != nil {
		return unasked, nil // it went away, or into the background
	}
	defer t.Close()
	yes, err := t.Confirm(ctx, "rewind?")
	switch {
	case errors.Is(err, terminal.ErrLeftOpen):
		return no, nil
	case err != nil:
		return no, err
	case yes:
		return agreed, nil
	}
	return no, nil
}
