package flags

import (
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

// ResumeLimits are the flags with which a resume lowers what bounds a run.
func ResumeLimits() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "mode", Usage: "a tighter approval `MODE`: plan, ask or auto"},
		&cli.IntFlag{Name: "max-turns", Usage: "a lower limit of `N` turns", HideDefault: true},
		&cli.DurationFlag{Name: "timeout", Usage: "a lower limit of `TIME`", HideDefault: true},
		&cli.StringFlag{Name: "max-tokens", Usage: "a lower limit of `N` tokens; 200k and 1.5M are fine"},
		&cli.StringFlag{Name: "max-cost", Usage: "a lower limit of `DOLLARS`, such as 2.50"},
		&cli.StringFlag{Name: "redo", Usage: "have the `PHASE` of a flow done again, and what differs then as the flow says"},
	}
}

// ResumeModel are the flags with which a resume says which model is asked and how.
func ResumeModel() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "ask `MODEL` from here on, as agent models lists them"},
		&cli.StringFlag{Name: "base-url", Usage: "ask the model at this `URL` from here on, for a server that moved"},
		&cli.DurationFlag{Name: "idle", Usage: "abort a model request after `TIME` without data", HideDefault: true},
		Record(),
	}
}

// ReadResume reads and checks what does not depend on the run: the run as it was typed, "" with
// --all, and what changes for it.
func ReadResume(c *cli.Command) (run string, t host.Changes, err error) {
	if err := errors.Join(CheckLimits(c), notWithAll(c)); err != nil {
		return "", t, err
	}
	l, err := Limits(c)
	if err != nil {
		return "", t, app.Usage(err)
	}
	t = host.Changes{
		Mode: l.Mode, MaxTurns: Value(l.MaxTurns), Timeout: Value(l.Timeout), Tokens: Value(l.MaxTokens), Cost: Value(l.MaxCost),
		BaseURL: c.String("base-url"), Redo: c.String("redo"),
	}
	if t.BaseURL != "" {
		if err := config.CheckURL(t.BaseURL); err != nil {
			return "", t, app.Usage(fmt.Errorf("--base-url: %v", err))
		}
	}
	if idle := c.Duration("idle"); c.IsSet("idle") && idle <= 0 {
		return "", t, app.Usage(fmt.Errorf("--idle %s: a time above 0", idle))
	}
	switch args := c.Args(); {
	case args.Len() > 2:
		return "", t, app.Usage(errors.New(`put the message for the model in quotes: agent resume <run> "a sentence"`))
	case args.Len() == 2 && strings.TrimSpace(args.Get(1)) == "":
		return "", t, app.Usage(errors.New("the message for the model is empty"))
	default:
		t.Message = args.Get(1)
		return args.Get(0), t, nil
	}
}

// notWithAll refuses a run beside --all, neither of them where nobody can pick one, and flags that
// are about one run.
func notWithAll(c *cli.Command) error {
	unnamed := !c.Args().Present() // it is picked from a list then, at a terminal
	if c.Bool("all") != unnamed && (c.Bool("all") || unnamed && (c.Bool("json") || c.Bool("detach") || c.Bool("reclaim"))) {
		return app.Usage(errors.New("name one run (agent resume last), or give --all"))
	}
	if c.Bool("any") && c.Args().Present() && c.Args().First() != "last" {
		return app.Usage(fmt.Errorf("--any goes with last, and with no run: %s says itself which one is meant", c.Args().First()))
	}
	for _, flag := range []string{"model", "base-url", "record", "redo", "output"} {
		if c.Bool("all") && c.String(flag) != "" {
			return app.Usage(fmt.Errorf("--%s is about one run: name the run instead of --all", flag))
		}
	}
	return nil
}

// Looser refuses limits of a resume that would loosen what a run goes by.
func Looser(c *cli.Command, run string, mode journal.Mode, has journal.Limits) error {
	l, err := Limits(c)
	if err != nil {
		return app.Usage(err)
	}
	for _, f := range []struct {
		flag   string
		looser bool
		has    any
	}{
		{"mode", l.Mode != "" && l.Mode.LooserThan(mode), mode},
		{"max-turns", above(l.MaxTurns, has.MaxTurns), has.MaxTurns},
		{"timeout", above(l.Timeout, has.Timeout), has.Timeout},
		{"max-tokens", above(l.MaxTokens, has.MaxTokens), has.MaxTokens},
		{"max-cost", above(l.MaxCost, has.MaxCost), journal.Dollars(has.MaxCost)},
	} {
		if f.looser {
			return app.Usage(fmt.Errorf("resume run %s: --%s %v is looser than the run's %v: %w", run, f.flag, c.Value(f.flag), f.has, view.ErrLooser))
		}
	}
	return nil
}

// Tightens says whether limits of a resume are given.
func Tightens(c *cli.Command) bool {
	return slices.ContainsFunc(ResumeLimits(), func(f cli.Flag) bool { return c.IsSet(f.Names()[0]) })
}

// above says whether a limit that was given is higher than the run's. Zero is no limit.
func above[N int | int64 | time.Duration](given *N, has N) bool {
	return given != nil && journal.Looser(*given, has)
}
