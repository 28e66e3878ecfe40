package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/doctor"
	"agent/host/terminal"
	"agent/host/view"
)

const doctorHelp = `Checks that everything that agent promises holds here: the state folder and
its disk, the database, every journal against its digests and against the
lists made from it, who drives what, and what was left behind; the
configuration, the witness of runs, and what the system lets the sandbox
enforce. Each finding that is wrong names its fix. It changes nothing without
--fix, which marks runs that lost their owner and removes files that nothing
needs any more.

"pins" is about that folder of the state folder. While a run works, what git
has of its files gets a second name there, so that a command which removes
the repository can be undone. That goes with the end of the run; it stays
where nothing else has what the run destroyed: agent help undo.

--secrets looks through every row, every body and every file of the state
folder for secrets that lie there in the clear: values of this environment,
values that were ever sealed, and what looks like a secret. It prints where
and of what kind, never the value.

--salvage reads row by row what can still be read, also from a database that
is damaged, and writes it as lines of JSON.

EXAMPLE
   agent doctor
   agent doctor --json
   agent doctor --secrets
   agent doctor --salvage saved.jsonl

EXIT STATUS
   0 nothing is wrong, warnings apart; 1 something is; 2 wrong usage`

type doctorCommand struct{ *commandLine }

func (a doctorCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "doctor",
		Usage:       "check the installation and the state folder",
		Description: doctorHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "fix what needs no decision"},
			&cli.BoolFlag{Name: "secrets", Usage: "only look for secrets that lie in the clear"},
			&cli.StringFlag{Name: "salvage", Usage: "write what can still be read to `FILE`, as JSON lines (- is stdout)"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a doctorCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	home, err := a.Home()
	if err != nil {
		return err
	}
	if c.IsSet("salvage") {
		if c.Bool("fix") || c.Bool("json") || c.Bool("secrets") {
			return app.Usage(errors.New("give --salvage alone: it writes JSON lines and fixes nothing"))
		}
		return a.salvage(ctx, home, c.String("salvage"))
	}
	var f doctor.Findings
	if c.Bool("secrets") {
		if c.Bool("fix") {
			return app.Usage(errors.New("give --secrets without --fix: it only looks"))
		}
		screen := terminal.NewScreen(a.Err, a.Getenv)
		f = a.App.ExamineSecrets(ctx, home, screen.Show)
	} else {
		f = a.App.Examine(ctx, home, a.armed, c.Bool("fix"))
	}
	if err := ctx.Err(); err != nil {
		return err // what it was kept from looking at is no finding
	}
	v := view.Doctor{Version: 1, Agent: Version, Home: home, Findings: f}
	for _, finding := range f {
		switch finding.Level {
		case doctor.LevelBad:
			v.Bad++
		case doctor.LevelWarn:
			v.Warnings++
		}
	}
	v.OK = v.Bad == 0
	a.print(c, v, func() { a.Findings(v) })
	if !v.OK {
		return withCode(view.ExitFailed)
	}
	return nil
}

// salvage writes what can be read of a database, damaged or not, to a new file or to stdout.
func (a doctorCommand) salvage(ctx context.Context, home, to string) (err error) {
	if _, err := os.Stat(home); err != nil {
		return fmt.Errorf("salvage: %v", err)
	}
	if to == "-" {
		return app.Salvage(ctx, home, a.Out)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("salvage to a new file: %v", err)
	}
	err = app.Salvage(ctx, home, f)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	a.Say(a.Err, "saved to %s; a table's last line says how many of its rows could not be read", to)
	return nil
}
