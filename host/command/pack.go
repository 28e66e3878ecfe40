package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/moves"
	"agent/host/pack"
	"agent/host/report"
	"agent/host/view"
)

// pack writes the pack of a thread.
func (a exportCommand) pack(ctx context.Context, c *cli.Command) error {
	switch n := c.Args().Len(); {
	case n < 1 || n > 2:
		return app.Usage(errors.New("name one run, and a file or none: agent export last FILE"))
	case c.Bool("thread"):
		return app.Usage(errors.New("--thread is for transcripts: a pack has the whole thread"))
	case c.Bool("move") && c.String("to") == "":
		return app.Usage(errors.New("--move needs --to ADDRESS, the store where the runs go on: agent import --id prints it there"))
	}
	to, err := address(c.String("to"))
	if err != nil {
		return app.Usage(err)
	}
	how := app.Read
	if c.Bool("move") || to != nil { // the key of this store is needed to open what is sealed
		how = app.Drive
	}
	s, err := a.open(ctx, how)
	if err != nil {
		return noState(err, "export")
	}
	v, err := a.exported(ctx, c, s, to)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	a.print(c, v, func() {
		a.Say(a.Out, "%s", v.Path)
		a.Say(a.Err, "%s", v.Text())
	})
	return nil
}

func (a exportCommand) exported(ctx context.Context, c *cli.Command, s *session, to *pack.Address) (v view.Exported, err error) {
	_, run, err := s.find(ctx, c.Args().First(), 'r')
	if err != nil {
		return v, err
	}
	here, err := a.Dir()
	if err != nil {
		return v, err
	}
	if c.Bool("move") {
		if err := s.MustWrite("export --move"); err != nil {
			return v, err
		}
	}
	return moves.Export(ctx, s.Folder, run, moves.ExportOptions{To: to, Move: c.Bool("move"), Path: c.Args().Get(1), Here: here})
}

// address reads where a pack is sealed to: the address itself, or a file that holds it; nil for
// nowhere.
func address(text string) (*pack.Address, error) {
	if text == "" {
		return nil, nil
	}
	if b, err := os.ReadFile(text); err == nil {
		text = string(b)
	}
	to, err := pack.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("export --to: %w", err)
	}
	return &to, nil
}

const importHelp = `Takes in the runs of a pack that agent export made: all of them, or none.
What is here already stays as it is; a run that went on here and there in
different ways is refused. Runs that moved here go on with agent resume. Of a
copy, runs that had not ended ask before each call that acts.

What an imported run does is up to whoever made the pack, as with any program
that you start: take in packs of people you trust.

Before anything is changed it prints what is in the pack, and which files are
not as the runs left them. --dir says where runs that have not ended work
from here on. --id prints the address of this store, for agent export --to.

EXAMPLE
   agent import --id
   agent import moved.pack --dir ~/src/site

EXIT STATUS
   0 taken in, or all of it was here; 1 refused, nothing changed;
   2 wrong usage`

type importCommand struct{ *commandLine }

func (a importCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "import",
		Usage:       "take in runs that agent export wrote",
		ArgsUsage:   "PACK | --id",
		Description: importHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "id", Usage: "print the address of this store"},
			&cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: "runs that have not ended work in `FOLDER` from here on"},
			&cli.BoolFlag{Name: "behind", Usage: "take them in although files are not as they left them: the model hears which"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a importCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Bool("id") == (c.Args().Len() == 1) || c.Args().Len() > 1 {
		return app.Usage(errors.New("name one pack, or say --id: agent import FILE, agent import --id (which prints the address of this store)"))
	}
	s, err := a.open(ctx, app.Drive)
	if err != nil {
		return err
	}
	if c.Bool("id") {
		return errors.Join(a.id(ctx, c, s), s.close())
	}
	err = s.MustWrite("import")
	var v view.Imported
	if err == nil {
		v, err = moves.Import(ctx, s.Folder, moves.ImportOptions{
			Path: c.Args().First(), Dir: c.String("dir"), Decide: func(v view.Imported) error { return a.decide(ctx, c, v) },
		})
	}
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	a.print(c, v, func() { report.TakenIn(&a.Terminal, v) })
	return nil
}

func (a importCommand) id(ctx context.Context, c *cli.Command, s *session) error {
	id, err := moves.Address(ctx, s.Folder)
	if err != nil {
		return err
	}
	a.print(c, view.StoreAddress{Version: 1, Address: id.String()}, func() { a.Say(a.Out, "%s", id) })
	return nil
}

// decide shows what is in a pack, and asks where a person should know of something first.
func (a importCommand) decide(ctx context.Context, c *cli.Command, v view.Imported) error {
	a.Say(a.Err, "%s", v.WhatText())
	if len(v.Behind) == 0 {
		return nil
	}
	a.Say(a.Err, "%s", v.BehindText())
	if c.Bool("behind") {
		return nil
	}
	refuse := errors.New("import: nothing was taken in; put the files there, name another folder with --dir, or say --behind: the model hears which they are")
	t, err := a.Desk.Open()
	if err != nil {
		return refuse
	}
	defer t.Close()
	yes, err := t.Confirm(ctx, "take the runs in all the same? The model hears which files these are")
	if err != nil || yes {
		return err
	}
	return refuse
}
