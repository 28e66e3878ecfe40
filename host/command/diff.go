package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/diff"
	"agent/host/undo"
)

const diffHelp = `Shows what the calls of a run, and of the runs below it, changed in files,
from one position to another: @0 is before the run, and without positions it
is all that the run did. Of each path it is the content before the first
change against the content after the last. agent checkpoints lists positions.
In a pipe it is a diff that git takes: agent diff last | git apply -R. What
git has no words for stands in lines that begin with #, such as the phases of
a flow that changed a path; placeholders stand for secrets. On a terminal a
long diff is shown by $PAGER, or else by less.

EXAMPLE
   agent diff last
   agent diff last --stat
   agent diff r-7k2m@2..@4 parse
   agent diff r-7k2m@2 --all

EXIT STATUS
   0 shown, or nothing changed; 1 there is no such run or position; 2 wrong
   usage; 4 interrupted`

type diffCommand struct{ *commandLine }

func (a diffCommand) command() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "show what a run changed in files", ArgsUsage: "<run>[@<turn>[..@<turn>]] [path...]",
		Description: diffHelp, Action: a.run,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "show what others changed meanwhile, too"},
			&cli.BoolFlag{Name: "stat", Usage: "print one line a path"},
			jsonFlag(),
		},
	}
}

func (a diffCommand) run(ctx context.Context, c *cli.Command) error {
	r, err := diffRequest(c.Args().First())
	if err != nil {
		return app.Usage(err)
	}
	if c.Bool("stat") && c.Bool("json") {
		return app.Usage(errors.New("--stat and --json: the object has the counts; leave --stat out"))
	}
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "show what run "+r.Run+" changed")
	}
	if _, r.Run, err = s.find(ctx, r.Run, 'r'); err != nil {
		return errors.Join(err, s.close())
	}
	r.All, r.Paths, r.Here = c.Bool("all"), c.Args().Tail(), here()
	d, err := diff.Read(ctx, &s.Process, r)
	if err != nil {
		return errors.Join(err, s.close())
	}
	return errors.Join(a.show(ctx, c, d), s.close())
}

// here is the folder that paths are typed in; "" where nothing knows it.
func here() string {
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd)
	}
	if err != nil {
		return ""
	}
	return cwd
}

// show prints the diff in the way that was asked for.
func (a diffCommand) show(ctx context.Context, c *cli.Command, d *diff.Diff) error {
	if c.Bool("json") || c.Bool("stat") {
		v, err := d.View(ctx)
		switch {
		case err != nil:
			return err
		case c.Bool("json"):
			a.PrintJSON(v)
			return nil
		case len(v.Files) > 0:
			a.Stat(v.Files)
		}
		a.notes(d, len(v.Files) == 0)
		return nil
	}
	none, err := a.Diff(d.Files(ctx))
	if err == nil {
		a.notes(d, none)
	}
	return err
}

func (a diffCommand) notes(d *diff.Diff, none bool) {
	if none && len(d.Notes) == 0 {
		a.Say(a.Err, "agent: run %s changed no file%s", d.Run, between(d))
	}
	for _, n := range d.Notes {
		a.Say(a.Err, "agent: %s", n)
	}
}

func between(d *diff.Diff) string {
	if d.From == 0 {
		return ""
	}
	return fmt.Sprintf(" from @%d to @%d; all of it: agent diff %s", d.From, d.To, d.Run)
}

// diffRequest reads <run>, <run>@<turn> or <run>@<turn>..@<turn>.
func diffRequest(text string) (r diff.Request, err error) {
	run, span, some := strings.Cut(text, "@")
	r = diff.Request{Run: run, To: undo.ToEnd}
	if run == "" {
		return r, errors.New("name one run: agent diff last")
	}
	if !some {
		return r, nil
	}
	from, to, both := strings.Cut(span, "..")
	r.From, err = strconv.Atoi(from)
	if err == nil && both {
		r.To, err = strconv.Atoi(strings.TrimPrefix(to, "@"))
	}
	if err != nil || r.From < 0 || r.To < 0 {
		return r, fmt.Errorf("%s names no positions: write a run and turns, such as last@2..@4; agent checkpoints last lists them", text)
	}
	if r.From > r.To {
		return r, fmt.Errorf("%s ends before it begins: agent diff %s@%d..@%d", text, run, r.To, r.From)
	}
	return r, nil
}
