package command

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/terminal"
	"agent/host/view"
)

const restoreHelp = `Decides that the database counts although it is older than the folder around
it: a backup of agent.db was put back, or the database or its log was lost.
Until then nothing is driven, since runs would do again what the lost record
says was done.

With --here it shows what is ahead of the database: what its mark names,
commands that began, and what the log knows. Then it asks. After a yes, runs
that have not ended are interrupted (restored); in them every call that acts
needs your yes from then on, in every mode, and no yes from before counts. To
undo the loss instead, put the newer agent.db back and do not decide.

EXAMPLE
   agent restore --here
   agent restore --here --yes

EXIT STATUS
   0 decided, or there was nothing to decide; 1 refused; 2 wrong usage`

type restoreCommand struct{ *commandLine }

func (a restoreCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "restore",
		Usage:       "decide about a database that is older than its folder",
		Description: restoreHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "here", Usage: "decide about the database in the state folder"},
			&cli.BoolFlag{Name: "yes", Usage: "do not ask"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a restoreCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if !c.Bool("here") {
		return app.Usage(errors.New("say --here: agent restore --here decides about the database in the state folder"))
	}
	home, err := a.Home()
	if err != nil {
		return err
	}
	s, err := a.openRestore(ctx, c, home)
	if err != nil {
		return noState(err, "restore")
	}
	return errors.Join(a.decideHere(ctx, c, s), s.close())
}

// openRestore opens the store without the look for lost runs. Where no database is left it makes
// one only after a yes.
func (a restoreCommand) openRestore(ctx context.Context, c *cli.Command, home string) (*session, error) {
	anew := false
	write, err := app.Writable(home)
	var behind *app.BehindError
	if errors.As(err, &behind) && behind.Missing {
		a.Say(a.Err, "%v", behind)
		if err := a.confirmRestore(ctx, c, "begin with an empty database? What was recorded stays lost"); err != nil {
			return nil, err
		}
		write, anew, err = true, true, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := a.OpenRaw(ctx, home, app.RawOptions{Write: write, Anew: anew})
	if err != nil {
		return nil, err
	}
	s := &session{app: a.commandLine, Folder: f}
	if anew {
		_, err = s.RestoreHere(ctx, behind.What)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// decideHere shows what the database is behind of, asks, and records the decision.
func (a restoreCommand) decideHere(ctx context.Context, c *cli.Command, s *session) error {
	v := view.Restored{Version: 1, Ahead: []host.Ahead{}, Runs: []string{}}
	ahead, err := s.Ahead(ctx)
	if err != nil {
		return err
	}
	v.Ahead = append(v.Ahead, ahead...)
	if b := s.Store.Behind(); b != nil {
		v.Reason = b.What
	} else if len(ahead) > 0 {
		v.Reason = "run " + ahead[0].Run + ": " + ahead[0].What
	}
	if v.Behind = v.Reason != ""; !v.Behind {
		if c.Bool("json") {
			a.PrintJSON(v)
		} else {
			a.Say(a.Err, "the database in %s is not behind anything in its folder: there is nothing to decide", s.Home)
		}
		return nil
	}
	if err := s.MustWrite("restore"); err != nil {
		return err
	}
	a.Say(a.Err, "the database in %s is older than the folder around it: %s", s.Home, v.Reason)
	for _, one := range ahead {
		a.Say(a.Err, "  ahead of it: run %s: %s", one.Run, one.What)
	}
	if err := a.confirmRestore(ctx, c, "let it count from here on? Runs that have not ended ask before everything that acts"); err != nil {
		return err
	}
	runs, err := s.RestoreHere(ctx, v.Reason)
	if err != nil {
		return err
	}
	v.Runs = append(v.Runs, runs...)
	if c.Bool("json") {
		a.PrintJSON(v)
		return nil
	}
	a.Say(a.Err, "decided: the database counts from here on")
	for _, run := range runs {
		a.Say(a.Err, "run %s is interrupted (restored); it may have gone further: agent show %s, agent resume %s, agent cancel %s", run, run, run, run)
	}
	return nil
}

// confirmRestore asks for a yes at the terminal, unless --yes gives it.
func (a restoreCommand) confirmRestore(ctx context.Context, c *cli.Command, what string) error {
	if c.Bool("yes") {
		return nil
	}
	t, err := terminal.OpenPrompt()
	if err != nil {
		return errors.New("restore: there is no terminal to ask at; decide with: agent restore --here --yes")
	}
	defer t.Close()
	yes, err := t.Confirm(ctx, what)
	if err != nil || yes {
		return err
	}
	return errors.New("restore: nothing was decided")
}
