package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host"
	"agent/host/model/runbook"
	"agent/host/view"
	"agent/recovery"
	"agent/tools"
	"agent/tools/runner"
	"agent/tools/sandbox"
	"agent/tools/shell"
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

func (a *app) toolsCommand() *cli.Command {
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

func (a *app) tools(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 1 {
		return &usageError{errors.New("name one tool, or none to list them")}
	}
	home, err := a.home()
	if err != nil {
		return err
	}
	// Nothing is carried out here, so the tools need no open state folder.
	h, err := a.host(home, &db.Store{})
	if err != nil {
		return err
	}
	a.wipe = nil // that store knows no secrets
	reg, servers, end, err := a.servedTools(ctx, c, home, h.Env.Tools)
	defer end()
	if err != nil {
		return err
	}
	v := view.Tools{
		Version: 1, Tools: []view.Tool{}, Digest: reg.Digest(), Environment: environment(), Sandbox: a.sandboxWords(home),
		Servers: append([]view.Server{}, servers...),
	}
	names := reg.Names()
	if name := c.Args().First(); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		t, err := reg.Get(name)
		if err != nil {
			return fmt.Errorf("show tool %s: %v", name, err)
		}
		v.Tools = append(v.Tools, toolView(t))
	}
	switch {
	case c.Bool("json"):
		a.printJSON(v)
	case c.Args().Present():
		a.printTool(v.Tools[0])
	default:
		a.printTools(v)
	}
	return nil
}

// environment names what a command finds in its environment, the mark of its call included.
func environment() []string {
	names := append(shell.EnvironmentNames(os.Environ()), runner.MarkName)
	slices.Sort(names)
	return slices.Compact(names)
}

func toolView(t tools.Tool) view.Tool {
	spec := t.Spec()
	v := view.Tool{Name: spec.Name, Schema: spec.Schema, Description: spec.Description, Written: runbook.Written(spec.Name), Server: originView(t)}
	v.Asks = spec.Asks
	_, v.Inspects = t.(tools.Inspector)
	_, v.Outlives = t.(tools.Process)
	for _, sample := range samples(spec.Name) {
		is := t.Describe("", sample.args)
		e := view.Effect{Effect: is.Effect, When: sample.when, Modes: map[recovery.Mode]recovery.Decision{}}
		for _, m := range recovery.Modes() {
			e.Modes[m] = recovery.DecisionAllow // a question needs no permission
			if !v.Asks {
				e.Modes[m] = host.Permit(m, e.Effect, is.Outward != "")
			}
		}
		if len(v.Effects) == 0 || v.Effects[0].Effect != e.Effect {
			v.Effects = append(v.Effects, e)
		}
	}
	return v
}

// sample is arguments that make one effect of a tool.
type sample struct {
	args json.RawMessage
	when string
}

// samples are arguments for each effect that a tool may have: those that say nothing make the usual one, and those that cannot
// be read the most dangerous.
func samples(tool string) []sample {
	list := []sample{{args: json.RawMessage(`{}`)}, {}}
	if tool == "shell" {
		for _, access := range []sandbox.Access{sandbox.Write, sandbox.Read} {
			list = append(list, sample{json.RawMessage(fmt.Sprintf(`{"command":"true","access":%q}`, access)), "access " + string(access)})
		}
	}
	return list
}

func (a *app) printTools(v view.Tools) {
	t := table{head: []string{"TOOL", "EFFECT", "NEEDS A YES IN", "REFUSED IN", "WHAT IT DOES"}}
	for _, tool := range v.Tools {
		name, words := tool.Name, firstSentence(tool.Description)
		for _, e := range tool.Effects {
			if e.When != "" {
				words = "the same, with " + e.When
			}
			t.add(name, string(e.Effect), e.ModesWith(recovery.DecisionAsk), e.ModesWith(recovery.DecisionDeny), displaywidth.TruncateString(words, 100, "…"))
			name, words = "", "the same, where its arguments reach further"
		}
	}
	t.write(a.Out)
	a.say(a.Out, "\nwritten in a runbook as:")
	for _, tool := range v.Tools {
		if tool.Written != "" {
			a.say(a.Out, "  - %s", tool.Written)
		}
	}
	a.printServers(v.Servers)
	a.say(a.Out, "\nsandbox:      %s", v.Sandbox)
	a.say(a.Out, "environment:  %s", strings.Join(v.Environment, " "))
	a.say(a.Out, "modes:        plan, ask, auto, yolo; what a runbook names needs no further yes, except in plan")
}

// printServers lists the MCP servers; those that may not be started too.
func (a *app) printServers(list []view.Server) {
	if len(list) == 0 {
		return
	}
	a.say(a.Out, "\nMCP servers:")
	t := table{head: []string{"SERVER", "FROM", "TRUSTED", "TOOLS", "STATE"}}
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
		t.add(s.Name, s.From, trusted, fmt.Sprint(s.Tools), state)
	}
	t.write(a.Out)
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i]
	}
	return strings.TrimSuffix(text, ".")
}
