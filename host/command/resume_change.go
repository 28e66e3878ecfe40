package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/config"
	"agent/host/view"
	"agent/recovery/journal"
)

// resumeLimits are the flags with which a resume lowers what bounds a run.
func resumeLimits() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "mode", Usage: "a tighter approval `MODE`: plan, ask or auto"},
		&cli.IntFlag{Name: "max-turns", Usage: "a lower limit of `N` turns", HideDefault: true},
		&cli.DurationFlag{Name: "timeout", Usage: "a lower limit of `TIME`", HideDefault: true},
		&cli.StringFlag{Name: "max-tokens", Usage: "a lower limit of `N` tokens; 200k and 1.5M are fine"},
		&cli.StringFlag{Name: "max-cost", Usage: "a lower limit of `DOLLARS`, such as 2.50"},
	}
}

// resumeModel are the flags with which a resume says which model is asked and how.
func resumeModel() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "ask `MODEL` from here on, as agent models lists them"},
		&cli.StringFlag{Name: "base-url", Usage: "ask the model at this `URL` from here on, for a server that moved"},
		&cli.DurationFlag{Name: "idle", Usage: "abort a model request after `TIME` without data", HideDefault: true},
		recordFlag(),
	}
}

// resumeArgs are what a resume names: the run as it was typed, a message for its model, and its
// folder where that moved.
type resumeArgs struct {
	run, message, folder string
}

// readResume reads and checks what does not depend on the run.
func (a resumeCommand) readResume(c *cli.Command) (resumeArgs, host.Changes, error) {
	var r resumeArgs
	if err := errors.Join(checkLimits(c), notWithAll(c)); err != nil {
		return r, host.Changes{}, err
	}
	l, err := limitFlags(c)
	if err != nil {
		return r, host.Changes{}, app.Usage(err)
	}
	t := host.Changes{
		Mode: l.Mode, MaxTurns: value(l.MaxTurns), Timeout: value(l.Timeout), Tokens: value(l.MaxTokens), Cost: value(l.MaxCost),
		BaseURL: c.String("base-url"),
	}
	if t.BaseURL != "" {
		if err := config.CheckURL(t.BaseURL); err != nil {
			return r, t, app.Usage(fmt.Errorf("--base-url: %v", err))
		}
	}
	if a.Idle = c.Duration("idle"); c.IsSet("idle") && a.Idle <= 0 {
		return r, t, app.Usage(fmt.Errorf("--idle %s: a time above 0", a.Idle))
	}
	switch args := c.Args(); {
	case args.Len() > 2:
		return r, t, app.Usage(errors.New(`put the message for the model in quotes: agent resume <run> "a sentence"`))
	case args.Len() == 2 && strings.TrimSpace(args.Get(1)) == "":
		return r, t, app.Usage(errors.New("the message for the model is empty"))
	default:
		r.run, r.message = args.Get(0), args.Get(1)
	}
	if a.dir != "" && r.run != "" && r.run != "last" {
		r.folder, err = a.folder(a.dir)
		a.dir = "" // it names no folder to look in
	}
	t.Folder, t.Message = r.folder, r.message
	return r, t, err
}

// notWithAll refuses a run beside --all, neither of them, and flags that are about one run.
func notWithAll(c *cli.Command) error {
	if c.Bool("all") == c.Args().Present() {
		return app.Usage(errors.New("name one run (agent resume last), or give --all"))
	}
	for _, flag := range []string{"model", "base-url", "record"} {
		if c.Bool("all") && c.String(flag) != "" {
			return app.Usage(fmt.Errorf("--%s is about one run: name the run instead of --all", flag))
		}
	}
	return nil
}

// changeModel adds the model that --model names to the changes, with its key at hand.
func (s *resuming) changeModel(ctx context.Context, run string) error {
	name := s.c.String("model")
	if name == "" {
		return nil
	}
	st, err := s.State(ctx, run)
	if err != nil {
		return err
	}
	conf, err := s.app.Settings(st.Created.Folder)
	if err != nil {
		return err
	}
	ch, err := s.app.Choose(ctx, conf, app.Wish{Model: name, BaseURL: s.changes.BaseURL}, app.Previous{Effort: st.Created.Setup.Effort})
	if err != nil {
		return err
	}
	how := ch.Setup
	if how.Provider == "" {
		return app.Usage(fmt.Errorf("resume run %s: --model %s: %s asks no provider, so it cannot go on for another model", run, name, ch.Name))
	}
	if err := errors.Join(app.CheckPriced(conf, ch, st.Limits), s.app.FetchKey(ctx, conf, ch)); err != nil {
		return err
	}
	s.changes.Model = &journal.ModelChange{
		Name: ch.Name, Provider: how.Provider, BaseURL: how.BaseURL, Window: how.Window, MaxOutput: how.MaxOutput,
		Effort: how.Effort, Price: how.Price,
	}
	s.changes.BaseURL = "" // the model's own address holds it
	return nil
}

// looser refuses flags of a resume that would loosen what a run goes by.
func (s *resuming) looser(ctx context.Context, run string) error {
	if !slices.ContainsFunc(resumeLimits(), func(f cli.Flag) bool { return s.c.IsSet(f.Names()[0]) }) {
		return nil
	}
	st, err := s.State(ctx, run)
	if err != nil {
		return err
	}
	l, err := limitFlags(s.c)
	if err != nil {
		return app.Usage(err)
	}
	has := st.Limits
	for _, f := range []struct {
		flag   string
		looser bool
		has    any
	}{
		{"mode", l.Mode != "" && l.Mode.LooserThan(st.Mode), st.Mode},
		{"max-turns", above(l.MaxTurns, has.MaxTurns), has.MaxTurns},
		{"timeout", above(l.Timeout, has.Timeout), has.Timeout},
		{"max-tokens", above(l.MaxTokens, has.MaxTokens), has.MaxTokens},
		{"max-cost", above(l.MaxCost, has.MaxCost), journal.Dollars(has.MaxCost)},
	} {
		if f.looser {
			return app.Usage(fmt.Errorf("resume run %s: --%s %v is looser than the run's %v: %w", run, f.flag, s.c.Value(f.flag), f.has, view.ErrLooser))
		}
	}
	return nil
}

// above says whether a limit that was given is higher than the run's. Zero is no limit.
func above[N int | int64 | time.Duration](given *N, has N) bool {
	return given != nil && journal.Looser(*given, has)
}
