package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/config"
	"agent/host/view"
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
			&cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: "as for a run in `FOLDER` (default: the current one)"},
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
	a.print(c, v, func() { a.IO.Models(v, conf.Path, conf.Unpriced) })
	return nil
}

// checkModel asks a model one small question.
func (a modelsCommand) checkModel(ctx context.Context, c *cli.Command, conf *app.Settings) error {
	f := app.Wish{Model: c.Args().First(), BaseURL: c.String("base-url")}
	if f.BaseURL != "" {
		if err := config.CheckURL(f.BaseURL); err != nil {
			return app.Usage(fmt.Errorf("--base-url: %v", err))
		}
	}
	if f.Model != "" {
		if _, _, err := conf.Catalog.Parse(f.Model); err != nil {
			return app.Usage(fmt.Errorf("check the model that the argument names: %v", err))
		}
	}
	v, err := a.Check(ctx, conf, f)
	if err != nil {
		return err
	}
	a.print(c, v, func() { a.ModelCheck(v, asked(conf, v.Model)) })
	if !v.OK {
		return withCode(view.ExitFailed)
	}
	return nil
}

// asked is the provider that a model is asked at; nil where it is not known.
func asked(conf *app.Settings, model string) *view.Provider {
	name, _, ok := strings.Cut(model, "/")
	if !ok {
		return nil
	}
	p, ok := conf.Catalog.Provider(name)
	if !ok {
		return nil
	}
	return &view.Provider{KeyEnv: p.KeyEnv, KeyCmd: p.KeyCmd, HasKey: conf.Catalog.HasKey(p)}
}
