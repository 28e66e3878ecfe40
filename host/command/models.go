package command

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/journal"
)

const modelsHelp = `Lists the providers of models with where they are asked and where their key
comes from, the models of which something is known, and which model a new run
would use here and why. A key itself is never shown.

With --check it asks a model, the one that would be used or the one that is
named, one small question that costs about as much as a sentence, and prints
how fast the answer came, whether it came piece by piece, and whether the
model can call tools.

A model is named provider/model. Your config.toml may name the model to use,
add providers, and give windows and prices that are not known: agent help
configuration has an example of each. ANTHROPIC_BASE_URL, OPENAI_BASE_URL and
OLLAMA_HOST name other addresses. Where OPENAI_BASE_URL names another server,
it is asked in Chat Completions.

EXAMPLE
   agent models
   agent models --check
   agent models --check ollama/qwen3

EXIT STATUS
   0 listed, or the model answered and called the tool; 1 it did not, or
   refused; 2 wrong usage or configuration`

type modelsCommand struct{ *commandLine }

func (a modelsCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "models",
		Usage:       "list models, and check one",
		ArgsUsage:   "[--check [MODEL]]",
		Description: modelsHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "ask a model one small question"},
			&cli.StringFlag{Name: "base-url", Usage: "check the model at this `URL`"},
			&cli.StringFlag{Name: "dir", Usage: "as for a run in `FOLDER` (default: the current one)"},
			jsonFlag(),
		},
		Action: a.run,
	}
}

func (a modelsCommand) run(ctx context.Context, c *cli.Command) error {
	if !c.Bool("check") {
		if c.Args().Present() || c.IsSet("base-url") {
			return app.Usage(errors.New("agent models takes a model or an address only with --check"))
		}
	} else if c.Args().Len() > 1 {
		return app.Usage(errors.New("name one model: agent models --check openai/gpt-6.1-sol"))
	}
	folder, err := a.folder(c.String("dir"))
	if err != nil {
		return err
	}
	conf, err := a.Settings(folder)
	if err != nil {
		return err
	}
	if c.Bool("check") {
		return a.checkModel(ctx, c, conf)
	}
	v := a.Models(ctx, conf)
	a.print(c, v, func() { a.printModels(conf, v) })
	return nil
}

func (a modelsCommand) printModels(conf *app.Settings, v view.Models) {
	t := terminal.Table{Head: []string{"PROVIDER", "KIND", "ASKED AT", "KEY"}}
	for _, p := range v.Providers {
		at := p.BaseURL
		if p.From != "" {
			at += " (" + p.From + ")"
		}
		t.Add(p.Name, p.Kind, at, view.KeyText(p))
	}
	t.Write(a.Out)
	a.Say(a.Out, "")
	t = terminal.Table{Head: []string{"MODEL", "WINDOW", "ANSWER", "INPUT", "CACHED", "OUTPUT", "KEY"}}
	for _, m := range v.Models {
		in, cached, out, key := "-", "-", "-", "no"
		if m.Price != nil {
			in, cached, out = journal.Dollars(m.Price.Input), journal.Dollars(m.Price.Cached), journal.Dollars(m.Price.Output)
		}
		if m.Usable {
			key = "yes"
		}
		t.Add(m.Name, view.Tokens(m.Window), view.Tokens(m.MaxOutput), in, cached, out, key)
	}
	t.Write(a.Out)
	a.Say(a.Out, "prices are for a million tokens; other models work too, without a known window and price")
	for _, p := range v.Providers {
		if p.From != "" && conf.Unpriced(p.Name) {
			a.Say(a.Out, "what %s's models cost at %s is not known: its list prices hold at its own address only", p.Name, p.BaseURL)
		}
	}
	a.Say(a.Out, "\nconfiguration:  %s", a.configWords(conf))
	if v.Use.Model == "" {
		a.Say(a.Out, "a new run uses: none; %s", v.Use.Error)
		return
	}
	a.Say(a.Out, "a new run uses: %s (%s)", v.Use.Model, v.Use.Why)
	if v.Use.Error != "" {
		a.Say(a.Out, "which it cannot: %s", v.Use.Error)
	}
}

func (a modelsCommand) configWords(conf *app.Settings) string {
	if len(conf.Files) == 0 {
		return "none; it would be " + a.Tilde(conf.Path)
	}
	var all []string
	for _, f := range conf.Files {
		all = append(all, a.Tilde(f))
	}
	return strings.Join(all, ", ")
}
