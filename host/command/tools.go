package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/terminal"
)

const toolsHelp = `Lists the tools that a model can use here, what a call of each may change,
and what each approval mode makes of it. The effect is decided from a call's
arguments; a tool that has several is shown with each. Below stand the names
of the environment variables that commands get; the others are kept from
them. Given a tool's name, it shows that tool with its schema.

Rules in your config.toml change what a mode asks about or refuses: agent
help permissions. fetch reaches no private address but those that config.toml
names: [fetch] private = ["127.0.0.1:3000"].

The tools of MCP servers stand among them: those of mcp.json beside your
config.toml, and those of .mcp.json of the folder once you allowed exactly
what that file holds. They are started for this, and end with it: agent help
mcp.

EXAMPLE
   agent tools
   agent tools --json
   agent tools shell
   agent tools --trust

EXIT STATUS
   0 listed, 1 refused, 2 wrong usage`

type toolsCommand struct{ *commandLine }

func (a toolsCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "tools",
		Usage:       "list the tools that a model can use",
		ArgsUsage:   "[tool]",
		Description: toolsHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "trust", Usage: "show what .mcp.json of the folder would start, and allow exactly that; at a terminal you are asked first"},
			&cli.BoolFlag{Name: "distrust", Usage: "undo --trust"},
			&cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: "the tools of a run in `FOLDER` (default: the current one)"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a toolsCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 1 {
		return app.Usage(errors.New("name one tool, or none to list them"))
	}
	folder, err := a.folder(c.String("dir"))
	if err != nil {
		return err
	}
	v, end, err := a.Tools(ctx, folder, c.Args().First(), func(f *app.ServerFiles) error { return a.trust(ctx, c, f) })
	defer end()
	if err != nil {
		return err
	}
	a.print(c, v, func() {
		if c.Args().Present() {
			a.Tool(v.Tools[0])
		} else {
			a.IO.Tools(v)
		}
	})
	return nil
}

// trust keeps what --trust or --distrust says of the folder's file, once all of it was shown.
func (a toolsCommand) trust(ctx context.Context, c *cli.Command, f *app.ServerFiles) error {
	yes, no := c.Bool("trust"), c.Bool("distrust")
	switch {
	case !yes && !no:
		return nil
	case yes && no:
		return app.Usage(errors.New("give --trust or --distrust, not both"))
	}
	own, err := f.ChangedOwn()
	if err != nil {
		return err
	}
	f.Own, f.OwnOnly = own, f.Digest == ""
	switch {
	case f.OwnOnly && (no || len(own) == 0):
		return app.Usage(fmt.Errorf("there is no %s to allow", f.Workspace))
	case f.Wrong != nil && yes:
		return app.Usage(f.Wrong)
	}
	yes, err = a.decision(ctx, f, yes)
	if err == nil {
		err = f.Keep(yes)
	}
	if err != nil {
		return err
	}
	if yes {
		a.Say(a.Err, "allowed, until the file or what they start from changes; agent tools --distrust takes it back")
	} else {
		a.Say(a.Err, "not allowed")
	}
	return nil
}

// decision shows the file, and asks at a terminal whether what was seen is allowed. Elsewhere the
// flag is the word.
func (a toolsCommand) decision(ctx context.Context, f *app.ServerFiles, wanted bool) (bool, error) {
	if wanted {
		if t, err := a.Desk.Open(); err == nil {
			defer t.Close()
			yes, err := t.Trust(ctx, f.Shown(), f.Workspace)
			if errors.Is(err, terminal.ErrLeftOpen) {
				err = errors.New("there is no decision on it, so nothing is changed")
			}
			return yes, err
		}
	}
	a.Say(a.Err, "%s", strings.TrimRight(f.Shown(), "\n"))
	return wanted, nil
}
