package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/journal"
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

func (a *commandLine) toolsCommand() *cli.Command {
	return &cli.Command{
		Name:        "tools",
		Usage:       "list the tools that a model can use",
		ArgsUsage:   "[tool]",
		Description: toolsHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "trust", Usage: "show what .mcp.json of the folder would start, and allow exactly that; at a terminal you are asked first"},
			&cli.BoolFlag{Name: "distrust", Usage: "undo --trust"},
			&cli.StringFlag{Name: "dir", Usage: "the tools of a run in `FOLDER` (default: the current one)"},
			jsonFlag(),
		},
		Action: a.tools,
	}
}

func (a *commandLine) tools(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 1 {
		return app.Usage(errors.New("name one tool, or none to list them"))
	}
	folder, err := a.folder(c.String("dir"))
	if err != nil {
		return err
	}
	v, end, err := a.Tools(ctx, folder, c.Args().First(), func(f *app.ServerFiles) error { return a.giveWord(ctx, c, f) })
	defer end()
	if err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		a.PrintJSON(v)
	case c.Args().Present():
		a.printTool(v.Tools[0])
	default:
		a.printTools(v)
	}
	return nil
}

func (a *commandLine) printTools(v view.Tools) {
	t := terminal.Table{Head: []string{"TOOL", "EFFECT", "NEEDS A YES IN", "REFUSED IN", "WHAT IT DOES"}}
	for _, tool := range v.Tools {
		name, words := tool.Name, firstSentence(tool.Description)
		for _, e := range tool.Effects {
			if e.When != "" {
				words = "the same, with " + e.When
			}
			t.Add(name, string(e.Effect), e.ModesWith(journal.DecisionAsk), e.ModesWith(journal.DecisionDeny), displaywidth.TruncateString(words, 100, "…"))
			name, words = "", "the same, where its arguments reach further"
		}
	}
	t.Write(a.Out)
	a.Say(a.Out, "\nwritten in a runbook as:")
	for _, tool := range v.Tools {
		if tool.Written != "" {
			a.Say(a.Out, "  - %s", tool.Written)
		}
	}
	a.printServers(v.Servers)
	a.Say(a.Out, "\nsandbox:      %s", v.Sandbox)
	a.Say(a.Out, "environment:  %s", strings.Join(v.Environment, " "))
	a.Say(a.Out, "modes:        plan, ask, auto, yolo; what a runbook names needs no further yes, except in plan")
}

// printServers lists the MCP servers; those that may not be started too.
func (a *commandLine) printServers(list []view.Server) {
	if len(list) == 0 {
		return
	}
	a.Say(a.Out, "\nMCP servers:")
	t := terminal.Table{Head: []string{"SERVER", "FROM", "TRUSTED", "TOOLS", "STATE"}}
	for _, s := range list {
		trusted, state := "no", "not started"
		if s.Trusted {
			trusted = "yes"
		}
		switch {
		case s.Started:
			state = "works"
		case s.Disabled:
			state = "disabled"
		case s.Error != "":
			state = s.Error
		}
		t.Add(s.Name, s.From, trusted, fmt.Sprint(s.Tools), state)
	}
	t.Write(a.Out)
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i]
	}
	return strings.TrimSuffix(text, ".")
}
