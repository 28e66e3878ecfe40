package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/config"
	"agent/host/prune"
	"agent/host/terminal"
	"agent/host/view"
)

const pruneHelp = `Removes finished threads from the state folder for good, while other runs go
on, and gives their space back to the disk. A thread goes whole: all runs in
it and below them, with what they kept to be undone. It stays while
   a run of it has not ended, or a process works on one
   a question is open
   nobody has decided on a call whose outcome is unknown
   a thread that stays was forked from it
A start key of a removed run stays taken: nothing is started a second time.
Without --older and --keep it does what [keep] older and runs of config.toml
say. It asks first; a kill leaves a sound state folder, and the next prune
removes the rest. Nothing brings back what was removed: agent backup.

EXAMPLE
   agent prune --older 30d --dry-run
   agent prune --older 30d --keep 100
   agent rm RUN

EXIT STATUS
   0 done, or nothing to remove; 1 refused or stopped; 2 wrong usage, or
   nothing says what may go`

const rmHelp = `Removes the threads of runs for good, with all other runs in them and below
them, as agent prune does. A thread that is still needed is not removed, and
then none is: the reason and the command that helps are printed.

EXAMPLE
   agent rm last
   agent rm --yes RUN RUN

EXIT STATUS
   0 removed; 1 refused, nothing was removed, or stopped; 2 wrong usage`

type pruneCommand struct{ *commandLine }

func (a pruneCommand) command() *cli.Command {
	return &cli.Command{
		Name: "prune", Usage: "remove finished runs that are old", Description: pruneHelp,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "older", Usage: "threads whose last fact is older than `AGE`, such as 30d or 12h"},
			&cli.IntFlag{Name: "keep", Usage: "all but the threads of the newest `N` runs; with --older both must hold", HideDefault: true},
		}, pruneFlags()...),
		Action: a.prune,
	}
}

func (a pruneCommand) rm() *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "remove finished runs", ArgsUsage: "RUN...", Description: rmHelp, Flags: pruneFlags(), Action: a.remove,
	}
}

func pruneFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "list what would go, and what stays, and remove nothing"},
		&cli.BoolFlag{Name: "yes", Usage: "do not ask"},
		jsonFlag(),
	}
}

func (a pruneCommand) prune(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	want, err := a.wanted(c)
	if err != nil {
		return err
	}
	return a.with(ctx, c, func(s *session) (prune.Want, error) { return want, nil })
}

// wanted is what flags say, and config.toml without any.
func (a pruneCommand) wanted(c *cli.Command) (w prune.Want, err error) {
	if !c.IsSet("older") && !c.IsSet("keep") {
		conf, is, err := prune.Configured(a.App)
		if err == nil && !is {
			err = app.Usage(errors.New("say what may go: agent prune --older 30d, or agent prune --keep 100; or set [keep] older or runs in config.toml"))
		}
		return prune.Want{Older: conf.Older, Keep: conf.Runs}, err
	}
	if c.IsSet("older") {
		if w.Older, err = config.Age(c.String("older")); err != nil {
			return w, app.Usage(fmt.Errorf("--older: %w", err))
		}
	}
	if w.Keep = c.Int("keep"); w.Keep < 0 || c.IsSet("keep") && w.Keep == 0 && w.Older == 0 {
		return w, app.Usage(fmt.Errorf("--keep %d: say how many of the newest runs stay, from 1", w.Keep))
	}
	return w, nil
}

func (a pruneCommand) remove(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() == 0 {
		return app.Usage(errors.New("name a run: agent rm RUN; agent ls --all lists them"))
	}
	return a.with(ctx, c, func(s *session) (w prune.Want, err error) {
		for _, text := range c.Args().Slice() {
			_, id, err := s.find(ctx, text, 'r')
			if err != nil {
				return w, err
			}
			w.Runs = append(w.Runs, id)
		}
		return w, nil
	})
}

// with looks for what is wanted, asks, and removes it.
func (a pruneCommand) with(ctx context.Context, c *cli.Command, want func(*session) (prune.Want, error)) error {
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, c.Name)
	}
	w, err := want(s)
	if err == nil {
		err = a.look(ctx, c, s, w)
	}
	return errors.Join(err, s.close())
}

func (a pruneCommand) look(ctx context.Context, c *cli.Command, s *session, w prune.Want) error {
	p, err := prune.Look(ctx, s.Folder, w)
	if err != nil {
		return err
	}
	v := p.View()
	if c.Bool("dry-run") {
		a.print(c, v, func() { a.list(v) })
		return nil
	}
	for _, k := range v.Kept {
		a.Say(a.Err, "%s", k.Text())
	}
	if w.Runs != nil && len(v.Kept) > 0 {
		a.print(c, v, func() { a.Say(a.Err, "nothing was removed") })
		return withCode(view.ExitFailed)
	}
	if !p.Nothing() {
		if err := a.confirm(ctx, c, "remove "+v.Text()+", for good?"); err != nil {
			return err
		}
	}
	screen := terminal.NewScreen(a.Err, a.Getenv)
	if v, err = p.Remove(ctx, screen.Show, 0); err != nil {
		return err
	}
	a.print(c, v, func() { a.Say(a.Err, "%s", v.Text()) })
	return nil
}

func (a pruneCommand) list(v view.Prune) {
	for _, t := range v.Threads {
		a.Say(a.Out, "%s  %s  %s  %s", t.Thread, view.Stamp(t.Last), view.Count(len(t.Runs), "run"), t.Words)
	}
	for _, k := range v.Kept {
		a.Say(a.Err, "%s", k.Text())
	}
	a.Say(a.Err, "%s would go; %s, which nobody wants to go, not counted", v.Text(), view.Count(v.Unwanted, "other thread"))
}

func (a pruneCommand) confirm(ctx context.Context, c *cli.Command, what string) error {
	if c.Bool("yes") {
		return nil
	}
	t, err := a.Desk.Open()
	if err != nil {
		return fmt.Errorf("%s: there is no terminal to ask at; say --yes, or list what would go: --dry-run", c.Name)
	}
	defer t.Close()
	yes, err := t.Confirm(ctx, what)
	if err == nil && !yes {
		err = fmt.Errorf("%s: nothing was removed", c.Name)
	}
	return err
}
