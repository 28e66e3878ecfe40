package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/export"
	"agent/host/export/gather"
	"agent/host/view"
	"agent/recovery/fault"
)

const exportHelp = `Writes runs into one file: a pack for another state folder, or a transcript
for people.

A pack has the whole thread of the run, with the runs below its runs. agent
import takes it in. It is a copy: where it is taken in, runs that had not
ended ask before each call that acts, since they may have gone on here.
--move has them go on there and nowhere else. It needs an address,
which agent import --id prints there. Sealed to one, the pack has secrets,
kept files and keys too, and that store alone opens it; else they are left
out.

--format writes a transcript of the run: what was asked, what the model
said, each call with its result, questions and answers, interruptions, and
the files that were changed. md is for readers of Markdown, html is a page
without script that loads nothing, json is what agent show and agent diff
print with --json. Without FILE, or with -, it goes to stdout. Secrets are
placeholders; what your configuration does not know as a secret is in it.

EXAMPLE
   agent export last
   agent export r-7k2m --move --to agent-store-1-s-… moved.pack
   agent export r-7k2m review.html --format html
   agent export last talk.md --format md --thread

EXIT STATUS
   0 written; 1 refused, or not all of the record could be read: what could
   be is written, with what is missing; 2 wrong usage`

type exportCommand struct{ *commandLine }

func (a exportCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "write a run into a file: a pack to import, or a transcript",
		ArgsUsage:   "<run> | last [FILE | -]",
		Description: exportHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "seal the pack to a store: its `ADDRESS`, or a file that holds it"},
			&cli.BoolFlag{Name: "move", Usage: "the runs go on there, and not here"},
			&cli.StringFlag{Name: "format", Usage: "`FORM` of a transcript: md, html or json"},
			&cli.BoolFlag{Name: "thread", Usage: "of a transcript: all runs of the conversation, in order"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

// run does what the format is for.
func (a exportCommand) run(ctx context.Context, c *cli.Command) error {
	switch format := c.String("format"); format {
	case "md", "html", "json":
		if c.Bool("move") || c.String("to") != "" || c.Bool("json") {
			return app.Usage(errors.New("--move, --to and --json are for packs: leave --format out, or them"))
		}
		return a.transcript(ctx, c, format)
	case "":
		return a.pack(ctx, c)
	default:
		return app.Usage(fmt.Errorf("there is no format %q: md, html or json", format))
	}
}

func (a exportCommand) transcript(ctx context.Context, c *cli.Command, format string) error {
	name, path := c.Args().First(), c.Args().Get(1)
	if n := c.Args().Len(); n < 1 || n > 2 {
		return app.Usage(errors.New("name one run, and a file or none: agent export last review.html --format html"))
	}
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "export "+name)
	}
	_, run, err := s.find(ctx, name, 'r')
	if err != nil {
		return errors.Join(err, s.close())
	}
	v, err := gather.Runs(ctx, s.Folder, run, c.Bool("thread"))
	if err == nil {
		err = a.write(v, format, path)
	}
	return errors.Join(err, s.close())
}

// write puts runs into a form, and that where it is wanted. What is missing is an error although
// the rest is written.
func (a exportCommand) write(v view.Export, format, path string) error {
	var (
		content []byte
		err     error
		o       = export.Options{Now: fault.Now(), Tilde: a.Tilde}
	)
	switch format {
	case "md":
		content = export.Markdown(v, o)
	case "html":
		content = export.HTML(v, o)
	case "json":
		content, err = export.JSON(v)
	}
	if err != nil {
		return err
	}
	if path == "" || path == "-" {
		_, err = a.Out.Write(content)
		if err != nil {
			return fmt.Errorf("write the transcript: %w", err)
		}
	} else if err = export.Save(path, content); err != nil {
		return err
	}
	if err := export.Missing(v.Runs); err != nil {
		return err
	}
	if path != "" && path != "-" {
		a.Say(a.Err, "%s: %s, %s", path, view.Count(len(v.Runs), "run"), view.Bytes(int64(len(content))))
	}
	return nil
}
