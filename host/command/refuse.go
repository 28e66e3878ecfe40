package command

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host/view"
)

// print writes v as the one object on stdout where --json asks for it; else text prints it.
func (a *commandLine) print(c *cli.Command, v any, text func()) {
	if c.Bool("json") {
		a.PrintJSON(v)
		return
	}
	text()
}

// oneObject sees to it that with --json a command prints one object also when it is refused.
func (a *commandLine) oneObject(f cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		err := f(ctx, c)
		if err == nil || a.Printed() || !c.Bool("json") {
			return err
		}
		return a.refuse(err)
	}
}

// refuse shows an error and prints the object about it.
func (a *commandLine) refuse(err error) error {
	err = a.bySignal(err)
	code := a.exit(err)
	a.PrintJSON(refusal(err, a.about, code))
	return withCode(code)
}

// refusal is the object about an error. run is what the command was about, as far as it is known.
func refusal(err error, run string, code int) view.Refusal {
	v := view.NewRefusal(err, run, code)
	if errors.As(err, new(*codeError)) && !v.Reused {
		v.Error = "" // it stands on stderr
	}
	return v
}
