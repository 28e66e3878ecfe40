package command

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/commits"
	"agent/host/flags"
	"agent/host/fork"
	"agent/host/lines"
	"agent/host/undo"
	"agent/host/view"
	"agent/recovery/journal"
)

const forkHelp = `Begins another thread at a position: what was said up to it is kept to the
byte, and the prompt comes behind it. The thread that it comes from stays as
it is. agent checkpoints lists positions; @0 is before a run.

The fork works in the same folder, on the files as they are now; which differ
from the position is shown. What was done outside after the position stays
done: where the model asks for the same again, you are asked first.

With --worktree it works in a folder of its own, which must not be there: a
worktree of git at the commit where HEAD was at the position, with no branch,
and with the files laid over it that were not as committed. The folder that
it comes from stays as it is. Ignored folders such as node_modules are not in
it. Its command for removing it, git worktree remove DIR, is printed.

EXAMPLE
   agent fork r-7k2m@2 "use a pull parser instead"
   agent fork r-7k2m@2 "use a pull parser instead" --worktree ../site-pull
   agent fork last@1 "the same for b.go" --model anthropic/claude-opus-5

EXIT STATUS
   as agent run`

type forkCommand struct{ runCommand }

func (a forkCommand) command() *cli.Command {
	return &cli.Command{
		Name: "fork", Usage: "begin another thread at a position of one", ArgsUsage: `<run>@<turn> "prompt" | -`, Description: forkHelp,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "mode", Usage: "approval `MODE`: plan, ask, auto or yolo (default: the run's)"},
			&cli.IntFlag{Name: "max-turns", Value: 100, Usage: "ask after `N` turns whether to go on; 0 for no limit"},
			&cli.DurationFlag{Name: "timeout", Usage: "end the run after this `TIME` of work, such as 30m", HideDefault: true},
			&cli.DurationFlag{Name: "expire", Usage: "close questions that nobody answers within this `TIME`, such as 48h (default: never)", HideDefault: true},
			&cli.StringFlag{Name: "worktree", Usage: "work in a new worktree of git in `DIR`, with the files as they were"},
			planFlag(), outputFlag(), refusalFlag(), detachFlag(), noRecoverFlag(), a.thinkingFlag(), jsonFlag(), lines.Flag(),
		}, flags.Model()...),
		Action: a.fork,
	}
}

func (a forkCommand) fork(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 2 {
		return app.Usage(errors.New(`name a position and a prompt: agent fork last@2 "prompt"`))
	}
	name, turn, err := position(c.Args().Slice()[:1])
	if err != nil {
		return app.Usage(err)
	}
	given, err := flags.ReadRun(c)
	if err == nil {
		err = flags.CheckLimits(c)
	}
	if err != nil {
		return err
	}
	if a.detached(c) {
		return a.detach(ctx, c, "")
	}
	req := host.StartRequest{Expire: c.Duration("expire"), Name: c.String("name"), From: &journal.Position{Turn: turn}}
	if req.Terms, err = flags.Terms(c); err != nil {
		return err
	}
	if req.Prompt, err = a.forkPrompt(ctx, c.Args().Get(1)); err != nil {
		return err
	}
	if err := given.Named(c, req); err != nil {
		return err
	}
	if given.Flow {
		return app.Usage(errors.New("a flow begins a conversation of its own, and cannot go on with another: agent run -f FILE [TASK]"))
	}
	if a.driver != nil {
		req.Run = a.driver.job.Run
	}
	a.Idle, a.Record = given.Idle, given.Record
	opened, err := a.open(ctx, app.Drive)
	if err != nil {
		return noState(err, "fork")
	}
	if turn == ofCommit {
		at, err := commits.Position(ctx, opened.Store, name)
		if err != nil {
			return errors.Join(err, opened.close())
		}
		name, req.From.Turn = at.Run, at.Turn
	}
	s := starting{opened, c}
	s.askHere(c)
	out, err := s.forkFrom(ctx, given, name, &req)
	if err != nil && out.Run == "" {
		return errors.Join(err, s.close())
	}
	return s.report(c, out, s.Busy(ctx, err))
}

// forkPrompt is the prompt behind the position.
func (a forkCommand) forkPrompt(ctx context.Context, text string) (string, error) {
	if text == "-" {
		return a.stdinPrompt(ctx)
	}
	if strings.TrimSpace(text) == "" {
		return "", app.Usage(errors.New(`there is no prompt: agent fork last@2 "prompt"`))
	}
	return text, nil
}

// forkFrom fills in what the source decides, and begins the run there or in a worktree.
func (s starting) forkFrom(ctx context.Context, given flags.Run, name string, req *host.StartRequest) (out host.Outcome, err error) {
	_, run, err := s.find(ctx, name, 'r')
	if err != nil {
		return out, err
	}
	req.From.Run = run
	if err := undo.Forkable(ctx, &s.Process, *req.From); err != nil {
		return out, err
	}
	row, err := s.Store.Run(ctx, run)
	if err != nil {
		return out, err
	}
	dir := s.c.String("worktree")
	if dir != "" {
		if dir, err = s.app.path(dir); err != nil {
			return out, err
		}
	}
	if req.StartKey = s.c.String("start-key"); req.StartKey != "" {
		req.Shown, req.StartDigest = s.showPlan, app.Asked(*req, given.Wish, given.Limits, strings.TrimSuffix(req.From.String()+" "+dir, " "), false).Digest()
		if out, found, err := s.Reuse(ctx, *req); found || err != nil {
			return out, err
		}
	}
	if err := s.sameFolder(ctx, row, req); err != nil {
		return out, err
	}
	if err := s.carryOn(ctx, s.c, ofThread(row.Thread)); err != nil {
		return out, err
	}
	if dir != "" {
		return s.forkInto(ctx, given, dir, req, &row)
	}
	if err := s.completeBehind(ctx, given, req, &row); err != nil {
		return out, err
	}
	if err := s.differing(ctx, *req.From); err != nil {
		return out, err
	}
	return s.Start(ctx, *req)
}

// differing says which files are otherwise now than at the position.
func (s starting) differing(ctx context.Context, at journal.Position) error {
	h, err := undo.Read(ctx, &s.Process, at)
	if err != nil {
		return err
	}
	differ, err := h.Differing(&s.Process)
	if err != nil {
		return err
	}
	if text := view.DifferText(at.String(), differ); text != "" {
		s.app.Say(s.app.Err, "%s", text)
	}
	return nil
}

// forkInto begins the run in a worktree, which goes again where no run is recorded.
func (s starting) forkInto(ctx context.Context, given flags.Run, dir string, req *host.StartRequest, row *app.RunRow) (out host.Outcome, err error) {
	tree, err := fork.Plan(ctx, &s.Process, *req.From, dir)
	if err != nil {
		return out, err
	}
	defer tree.Close() // it was only read from
	if err := tree.Make(ctx); err != nil {
		return out, err
	}
	var once sync.Once
	heard := s.Claimed
	s.Claimed = func(run, thread string) {
		once.Do(func() {
			if err := tree.Begun(ctx); err != nil {
				s.Warn(run, "%v", err)
			}
		})
		if heard != nil {
			heard(run, thread)
		}
	}
	made := tree.View(s.Store.Redact)
	s.tree, req.Folder = &made, tree.Folder
	for _, line := range made.Lines() {
		s.app.Say(s.app.Err, "%s", line)
	}
	if err = s.completeBehind(ctx, given, req, row); err == nil {
		out, err = s.Start(ctx, *req)
	}
	if err != nil && !out.Submitted {
		err = errors.Join(err, tree.Abandon(ctx))
	}
	return out, err
}
