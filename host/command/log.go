package command

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/commits"
)

const logHelp = `Lists the commits of the repository that you are in, newest first, each with
the checkpoint (k-…), the run and the share of it that the commit holds, and
how that is known: by git's own reflog while a call was under way, or by
content. No hook is needed for it, and the link outlives amend, rebase,
squash and cherry-pick. REV is a branch, a tag, an id, HEAD~3, or two with ..
between. Linked commits that no branch leads to any more stand at the end. A
checkpoint is provisional until the turn of its run is settled.
See agent help commits.

EXAMPLE
   agent log
   agent log main..feature
   agent log -n 100 --json

EXIT STATUS
   0 listed; 1 there is no repository or no such commit; 2 wrong usage`

const whyHelp = `Says where a line of a file is from: the call of a run that brought it, with
the prompt of that run; you, if it came after a run had looked at the file;
or the commit that brought it, and the run whose work that commit holds.
Versions of the file are compared one by one, as the runs saw them.

EXAMPLE
   agent why parse/read.go:41

EXIT STATUS
   0 said; 1 there is no such line; 2 wrong usage`

type logCommand struct{ *commandLine }

func (a logCommand) command() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "list commits with the runs whose work they hold", ArgsUsage: "[<rev> | <rev>..<rev>]", Description: logHelp,
		Flags:  []cli.Flag{&cli.IntFlag{Name: "max-count", Aliases: []string{"n"}, Value: 20, Usage: "list at most `N` commits"}, jsonFlag()},
		Action: a.log,
	}
}

func (a logCommand) why() *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "say which run, or who, brought a line of a file", ArgsUsage: "<file>:<line>", Description: whyHelp,
		Flags: []cli.Flag{jsonFlag()}, Action: a.line,
	}
}

func (a logCommand) log(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 1 || c.Int("max-count") < 1 {
		return app.Usage(errors.New("name one revision, and at least one commit: agent log -n 20 HEAD"))
	}
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "list commits")
	}
	dir, err := a.only()
	if err == nil && dir == "" {
		dir, err = a.currentDir()
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	v, err := commits.Log(ctx, &s.Process, dir, c.Args().First(), c.Int("max-count"))
	if err != nil {
		return errors.Join(err, s.close())
	}
	a.print(c, v, func() { a.Commits(v) })
	return s.close()
}

func (a logCommand) line(ctx context.Context, c *cli.Command) error {
	file, line, ok := commits.FileLine(c.Args().First())
	if c.Args().Len() != 1 || !ok {
		return app.Usage(errors.New("name a file and a line: agent why parse/read.go:41"))
	}
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "find where "+c.Args().First()+" is from")
	}
	v, err := commits.Why(ctx, &s.Process, file, line)
	if err != nil {
		return errors.Join(err, s.close())
	}
	a.print(c, v, func() { a.Why(v) })
	return s.close()
}

// commit shows a commit, where what a person typed is no run, call or question but may be one's id.
func (s showing) commit(ctx context.Context, id string) error {
	dir, err := s.app.currentDir()
	if err != nil {
		return err
	}
	v, err := commits.Show(ctx, &s.Process, dir, id)
	if err != nil {
		return err
	}
	s.app.print(s.c, v, func() { s.app.Commits(v) })
	return nil
}

// maybeCommit says whether a text may be the beginning of a commit's id, or names one from HEAD on.
func maybeCommit(text string) bool {
	return strings.HasPrefix(text, "k-") || strings.HasPrefix(text, "HEAD") || len(text) >= 7 && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}
