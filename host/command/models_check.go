package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/config"
	"agent/host/view"
)

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
	a.print(c, v, func() { a.printCheck(v, conf) })
	if !v.OK {
		return withCode(view.ExitFailed)
	}
	return nil
}

func (a modelsCommand) printCheck(v view.Check, conf *app.Settings) {
	row := func(name, format string, args ...any) {
		a.Say(a.Out, "%-10s %s", name, fmt.Sprintf(format, args...))
	}
	row("model", "%s (%s)", v.Model, v.Why)
	if v.Kind == "" {
		row("asked at", "nowhere: it needs no network")
		return
	}
	row("asked at", "%s, %s", v.BaseURL, v.Kind)
	if name, _, ok := strings.Cut(v.Model, "/"); ok {
		if p, ok := conf.Catalog.Provider(name); ok {
			row("key", "%s", view.KeyText(view.Provider{KeyEnv: p.KeyEnv, KeyCmd: p.KeyCmd, HasKey: conf.Catalog.HasKey(p)}))
		}
	}
	if v.Fault != "" || !v.OK && v.Usage == nil && v.Served == "" && v.Pieces == 0 {
		row("failed", "after %s: %s", view.Milliseconds(v.Whole), v.Error)
	} else {
		a.printAnswered(v, row)
	}
	if v.Remedy != "" {
		row("remedy", "%s", v.Remedy)
	}
}

func (a modelsCommand) printAnswered(v view.Check, row func(name, format string, args ...any)) {
	if v.Served != "" && v.Served != v.Model[strings.IndexByte(v.Model, '/')+1:] {
		row("served by", "%s", v.Served)
	}
	row("answered", "first byte after %s, whole after %s", view.Milliseconds(v.FirstByte), view.Milliseconds(v.Whole))
	switch {
	case v.Streams:
		row("streams", "yes: the text came in %s, the first after %s", view.Count(v.Pieces, "piece"), view.Milliseconds(v.FirstWord))
	case v.Pieces == 1:
		row("streams", "no: the text came in one piece")
	default:
		row("streams", "not seen: no text came beside the call")
	}
	if v.Tools {
		row("tools", "yes: it called the tool")
	} else {
		row("tools", "no: %s", v.Error)
	}
	if u := v.Usage; u == nil {
		row("usage", "the server does not say; tokens are estimated")
	} else {
		row("usage", "%d tokens read, %d written%s", u.Input, u.Output, view.CostText(v.Cost))
	}
}
