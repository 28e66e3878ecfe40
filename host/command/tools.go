package command

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host"
	"agent/host/model/runbook"
	"agent/recovery"
	"agent/tools"
	"agent/tools/runner"
)

const toolsHelp = `Lists the tools that a model can use here, what a call of each may change, and what each mode makes of it. The effect is
decided from a call's arguments; a tool that has two is shown with both. Below stand the names of the environment variables
that commands get; the others are kept from them.

EXAMPLE
   agent tools
   agent tools --json

EXIT STATUS
   0 listed, 1 refused, 2 wrong usage`

type toolJSON struct {
	Name        string          `json:"name"`
	Effects     []effectJSON    `json:"effects"`       // what its calls can be, the usual one first
	Asks        bool            `json:"asks_a_person"` // its calls are questions and run nothing
	Inspects    bool            `json:"can_look"`      // it can see afterwards whether a call happened
	Outlives    bool            `json:"outlives_host"` // its calls go on without the host and are found again
	Schema      json.RawMessage `json:"input_schema"`
	Description string          `json:"description"`
	Written     string          `json:"written_as,omitempty"` // as an item of a runbook
}

type effectJSON struct {
	Effect recovery.Effect                     `json:"effect"`
	Modes  map[recovery.Mode]recovery.Decision `json:"modes"`
}

type toolsJSON struct {
	Version     int        `json:"version"`
	Tools       []toolJSON `json:"tools"`
	Digest      string     `json:"digest"`
	Environment []string   `json:"environment"`
	Sandbox     string     `json:"sandbox"`
}

// noSandbox is what a person should know about commands until one exists.
const noSandbox = "none: a command may change anything, so shell counts as write_external"

func (a *app) toolsCommand() *cli.Command {
	return &cli.Command{
		Name:        "tools",
		Usage:       "list the tools that a model can use",
		Description: toolsHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.tools,
	}
}

func (a *app) tools(_ context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
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
	v := toolsJSON{Version: 1, Tools: []toolJSON{}, Digest: h.Tools.Digest(), Environment: environment(), Sandbox: noSandbox}
	for _, spec := range h.Tools.Specs() {
		t, err := h.Tools.Get(spec.Name)
		if err != nil {
			return err
		}
		v.Tools = append(v.Tools, toolView(t))
	}
	if c.Bool("json") {
		a.printJSON(v)
		return nil
	}
	a.printTools(v)
	return nil
}

// environment names what a command finds in its environment, the mark of its call included.
func environment() []string {
	names := append(tools.EnvironmentNames(os.Environ()), runner.MarkName)
	slices.Sort(names)
	return slices.Compact(names)
}

func toolView(t tools.Tool) toolJSON {
	spec := t.Spec()
	v := toolJSON{Name: spec.Name, Schema: spec.Schema, Description: spec.Description, Written: runbook.Written(spec.Name)}
	_, v.Asks = t.(tools.Asker)
	_, v.Inspects = t.(tools.Inspector)
	_, v.Outlives = t.(tools.Attacher)
	// Arguments that say nothing make the usual effect, and those that cannot be read the most dangerous one.
	for _, args := range []json.RawMessage{json.RawMessage(`{}`), nil} {
		e := effectJSON{Effect: t.Effect(args), Modes: map[recovery.Mode]recovery.Decision{}}
		for _, m := range recovery.Modes() {
			e.Modes[m] = recovery.DecisionAllow // a question needs no permission
			if !v.Asks {
				e.Modes[m] = host.Permit(m, e.Effect)
			}
		}
		if len(v.Effects) == 0 || v.Effects[0].Effect != e.Effect {
			v.Effects = append(v.Effects, e)
		}
	}
	return v
}

func (a *app) printTools(v toolsJSON) {
	t := table{head: []string{"TOOL", "EFFECT", "NEEDS A YES IN", "REFUSED IN", "WHAT IT DOES"}}
	for _, tool := range v.Tools {
		name, words := tool.Name, firstSentence(tool.Description)
		for _, e := range tool.Effects {
			t.add(name, string(e.Effect), e.modesWith(recovery.DecisionAsk), e.modesWith(recovery.DecisionDeny), words)
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
	a.say(a.Out, "\nsandbox:      %s", v.Sandbox)
	a.say(a.Out, "environment:  %s", strings.Join(v.Environment, " "))
	a.say(a.Out, "modes:        plan, ask, auto, yolo; what a runbook names needs no further yes, except in plan")
}

func (e effectJSON) modesWith(d recovery.Decision) string {
	var out []string
	for _, m := range recovery.Modes() {
		if e.Modes[m] == d {
			out = append(out, string(m))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i]
	}
	return strings.TrimSuffix(text, ".")
}
