package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/child"
	"agent/host/flow/file"
	"agent/host/flow/outline"
	"agent/host/input"
	"agent/host/model/runbook"
	"agent/recovery/flow"
)

const flowHelp = `Checks a flow file before anything is run. It prints which phase comes after
which and which may be at work side by side; the model, mode, tries and
limits of each phase; who makes and who uses each file; and every mistake
with its line and column and how to fix it. It needs no key and writes
nothing.

How a flow file is written: agent help flows.

EXAMPLE
   agent flow check feature.md
   agent flow check --dir ~/site --json feature.md

EXIT STATUS
   0 no mistakes, 1 the file cannot be read, 2 mistakes or wrong usage`

type flowCommand struct{ *commandLine }

func (a flowCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "flow",
		Usage:       "check a flow file",
		ArgsUsage:   "check FILE",
		Description: flowHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: "look for files that no phase makes in `FOLDER` (default: the current one)"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a flowCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 2 || c.Args().First() != "check" {
		return app.Usage(errors.New("name one file: agent flow check FILE"))
	}
	name := c.Args().Get(1)
	folder, err := a.folder(c.String("dir"))
	if err != nil {
		return err
	}
	text, err := a.flowText(ctx, name)
	if err != nil {
		return err
	}
	return a.outline(c, name, text, folder, false)
}

// outline prints what a flow would do, and every mistake in it.
func (a *commandLine) outline(c *cli.Command, name, text, folder string, named bool) error {
	conf, err := a.Settings(folder)
	if err != nil {
		return err
	}
	p, err := parseFlow(conf, name, text, folder, named)
	if err != nil {
		return err
	}
	v := outline.Of(name, p, missingKeys(conf, p.Definition.Phases))
	a.print(c, v, func() { v.Write(&a.Terminal, a.Width()) })
	if err := p.Err(); err != nil && c.Bool("json") {
		return withCode(v.ExitCode)
	} else if err != nil {
		return app.Usage(err)
	}
	return nil
}

// flowText reads a flow file.
func (a flowCommand) flowText(ctx context.Context, name string) (string, error) {
	b, err := input.OpenFile(name).All(ctx, 0, func() {})
	if err != nil {
		return "", fmt.Errorf("check the flow %s: %w", name, err)
	}
	text, err := input.Text(b)
	if err != nil {
		return "", app.Usage(fmt.Errorf("check the flow %s: %v", name, err))
	}
	return text, nil
}

// parseFlow reads a flow for a run in a folder.
func parseFlow(conf *app.Settings, name, text, folder string, named bool) (*file.Parsed, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("use folder %s: %v", folder, err)
	}
	defer root.Close() // it was only looked into
	return file.Parse(name, text, file.Known{
		Named: named,
		Model: func(name string) error {
			_, _, err := conf.Catalog.Parse(name)
			return err
		},
		Tools: append(runbook.Tools(), child.Name), Runbook: runbook.Check, Folder: root.FS(),
	}), nil
}

// missingKeys are the keys of providers that phases name and nobody has set.
func missingKeys(conf *app.Settings, phases []flow.Phase) []outline.Key {
	var all []outline.Key
	for _, p := range phases {
		name, _, err := conf.Catalog.Parse(p.Model)
		provider, ok := conf.Catalog.Provider(name)
		if err != nil || !ok || conf.Catalog.HasKey(provider) {
			continue
		}
		i := slices.IndexFunc(all, func(k outline.Key) bool { return k.Provider == name })
		if i < 0 {
			i, all = len(all), append(all, outline.Key{Provider: name, Variable: provider.KeyEnv})
		}
		all[i].Phases = append(all[i].Phases, p.Name)
	}
	return all
}
