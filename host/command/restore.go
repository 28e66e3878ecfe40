package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/copies"
	"agent/host/terminal"
	"agent/host/view"
)

const restoreHelp = `Makes the state folder of a backup, or decides about a folder that may not
hold all that happened.

restore FILE needs an empty state folder (AGENT_HOME names another one). It
prints which runs had not ended, and asks whether runs went on, after the
backup was made, where it was made:
   no        the original is gone, or was moved here: runs go on as they are
   yes       the folder is an archive: runs in it are read, and not driven
   unknown   each call that acts asks first, in runs that had not ended
For scripts: --nothing-after or --moved, --went-on, --yes (unknown).
--key opens the key in the backup: the private key of backup --new-key, the
file key of the state folder, or passphrase. Without it secrets, kept files
and environments are dropped.

restore --here decides about the state folder itself, where nothing is
driven: a folder that was copied (cp, rsync, another machine), or a database
that is older than what its folder knows. It shows what is ahead of the
database. A newer agent.db that is put back needs no decision.

EXAMPLE
   AGENT_HOME=~/restored agent restore agent.backup --key ~/agent-restore.key
   agent restore --here

EXIT STATUS
   0 done, or there was nothing to decide; 1 refused, nothing changed;
   2 wrong usage`

type restoreCommand struct{ *commandLine }

func (a restoreCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "restore",
		Usage:       "restore a backup, or decide about a copied state folder",
		ArgsUsage:   "FILE | --here",
		Description: restoreHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "here", Usage: "decide about the state folder itself"},
			&cli.StringFlag{Name: "key", Usage: "what opens the key in the backup: a `FILE`, or passphrase"},
			&cli.BoolFlag{Name: "nothing-after", Usage: "nothing happened after the copy was made"},
			&cli.BoolFlag{Name: "moved", Usage: "the same: it was moved, and the original is gone"},
			&cli.BoolFlag{Name: "went-on", Usage: "runs went on elsewhere: it becomes an archive"},
			&cli.BoolFlag{Name: "yes", Usage: "do not ask: it is not known"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a restoreCommand) run(ctx context.Context, c *cli.Command) error {
	switch {
	case c.Bool("here") == (c.Args().Len() == 1) || c.Args().Len() > 1:
		return app.Usage(errors.New("name a backup, or say --here: agent restore FILE, agent restore --here (which decides about the state folder itself)"))
	case c.Bool("here") && c.String("key") != "":
		return app.Usage(errors.New("--key opens the key of a backup: it goes with a file"))
	}
	if _, _, err := said(c); err != nil {
		return err
	}
	if !c.Bool("here") {
		return a.file(ctx, c, c.Args().First())
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

// said reads the flags that say whether runs went on elsewhere.
func said(c *cli.Command) (on copies.WentOn, is bool, err error) {
	n := 0
	for _, f := range []struct {
		name string
		on   copies.WentOn
	}{{"nothing-after", copies.Not}, {"moved", copies.Not}, {"went-on", copies.Yes}, {"yes", copies.NotKnown}} {
		if c.Bool(f.name) {
			on, n = f.on, n+1
		}
	}
	if n > 1 && !(n == 2 && c.Bool("nothing-after") && c.Bool("moved")) {
		return on, false, app.Usage(errors.New("--nothing-after (or --moved), --went-on and --yes exclude each other"))
	}
	return on, n > 0, nil
}

// file restores a backup.
func (a restoreCommand) file(ctx context.Context, c *cli.Command, file string) error {
	var open *copies.Opener
	var err error
	switch key := c.String("key"); key {
	case "":
	case "passphrase":
		text, err := a.passphrase(ctx, false)
		if err != nil {
			return err
		}
		open = copies.WithPassphrase(text)
	default:
		if open, err = copies.WithFile(key); err != nil {
			return err
		}
	}
	r, err := copies.Restore(ctx, a.App, file, open, func(r view.RestoredFrom) (copies.WentOn, error) {
		a.Say(a.Err, "%s: %s", r.Backup, view.WhereText(r.Made, r.Runs))
		return a.wentOn(ctx, c)
	})
	if err != nil {
		return err
	}
	a.print(c, r, func() {
		a.Say(a.Err, "restored into %s", r.Home)
		if !r.Key {
			a.Say(a.Err, "without its key: secrets, kept files and environments are gone, and no call is recognised as one from before")
		}
		a.sayDecided(r.WentOn, r.Runs)
	})
	return nil
}

// wentOn asks whether runs went on in what a copy is of, unless a flag says it.
func (a restoreCommand) wentOn(ctx context.Context, c *cli.Command) (copies.WentOn, error) {
	on, is, err := said(c)
	if err != nil || is {
		return on, err
	}
	t, err := a.Desk.Open()
	if err != nil {
		return on, errors.New("restore: there is no terminal to ask at; say --nothing-after, --went-on or --yes (it is not known)")
	}
	defer t.Close()
	word, err := t.Choose(ctx, "did runs go on, after that, in what this is a copy of?", []terminal.Choice{
		{Word: "no", Hint: "the original is gone, or was moved here: runs go on as they are"},
		{Word: "yes", Hint: "this becomes an archive: its runs are read, and not driven"},
		{Word: "unknown", Hint: "each call that acts asks first, in runs that had not ended"},
	})
	switch word {
	case "no":
		return copies.Not, nil
	case "yes":
		return copies.Yes, nil
	case "unknown":
		return copies.NotKnown, nil
	}
	return on, err
}

func (a restoreCommand) sayDecided(on string, runs []view.CopiedRun) {
	switch {
	case on == copies.Yes.String():
		a.Say(a.Err, "it is an archive: agent ls --all, agent show RUN; to decide otherwise: agent restore --here")
	case on == copies.NotKnown.String() && len(runs) > 0:
		a.Say(a.Err, "runs that had not ended ask before each call that acts: agent ls --interrupted, agent resume RUN")
	case len(runs) > 0:
		a.Say(a.Err, "go on with: agent ls --interrupted, agent resume RUN")
	}
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
		if _, err := copies.Apply(ctx, s.Host, copies.Decision{Reason: behind.What}); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// decideHere shows what the database is behind of, or that the folder is a copy, asks, and records
// the decision.
func (a restoreCommand) decideHere(ctx context.Context, c *cli.Command, s *session) error {
	v := view.Restored{Version: 1, Ahead: []host.Ahead{}, Runs: []string{}}
	ahead, err := s.Ahead(ctx)
	if err != nil {
		return err
	}
	v.Ahead = append(v.Ahead, ahead...)
	b := s.Store.Behind()
	if b == nil && len(ahead) > 0 {
		b = &app.BehindError{Dir: s.Home, What: "run " + ahead[0].Run + ": " + ahead[0].What}
	}
	if v.Behind = b != nil; !v.Behind {
		a.print(c, v, func() {
			a.Say(a.Err, "the database in %s is not behind anything in its folder: there is nothing to decide", s.Home)
		})
		return nil
	}
	if err := s.MustWrite("restore"); err != nil {
		return err
	}
	v.Reason, v.Copied = b.What, b.Copied || b.Archive
	a.Say(a.Err, "%v", b)
	for _, one := range ahead {
		a.Say(a.Err, "  ahead of it: run %s: %s", one.Run, one.What)
	}
	on, err := a.decided(ctx, c, v.Copied)
	if err != nil {
		return err
	}
	runs, err := copies.Apply(ctx, s.Host, copies.Decision{WentOn: on, Reason: v.Reason})
	if err != nil {
		return err
	}
	v.WentOn, v.Runs = on.String(), append(v.Runs, runs...)
	a.print(c, v, func() { a.sayHere(on, v.Runs) })
	return nil
}

func (a restoreCommand) sayHere(on copies.WentOn, runs []string) {
	if on == copies.Yes {
		a.sayDecided(on.String(), nil)
		return
	}
	a.Say(a.Err, "decided: the database counts from here on")
	for _, run := range runs {
		may := "; it may have gone further"
		if on == copies.Not {
			may = ""
		}
		a.Say(a.Err, "run %s is interrupted (restored)%s: agent show %s, agent resume %s, agent cancel %s", run, may, run, run, run)
	}
}

// decided asks about the folder itself. Of a database that is older than its folder it is known
// that runs went on.
func (a restoreCommand) decided(ctx context.Context, c *cli.Command, copied bool) (copies.WentOn, error) {
	if copied {
		return a.wentOn(ctx, c)
	}
	if on, is, err := said(c); err != nil || is {
		return on, err
	}
	return copies.NotKnown, a.confirmRestore(ctx, c, "let it count from here on? Runs that have not ended ask before everything that acts")
}

// confirmRestore asks for a yes at the terminal, unless --yes gives it.
func (a restoreCommand) confirmRestore(ctx context.Context, c *cli.Command, what string) error {
	if c.Bool("yes") {
		return nil
	}
	t, err := a.Desk.Open()
	if err != nil {
		return fmt.Errorf("restore: there is no terminal to ask at; decide with: agent restore --here --yes")
	}
	defer t.Close()
	yes, err := t.Confirm(ctx, what)
	if err != nil || yes {
		return err
	}
	return errors.New("restore: nothing was decided")
}
