package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/terminal"
)

// trust keeps what --trust or --distrust says of the folder's file, once all of it was shown.
func (a toolsCommand) trust(ctx context.Context, c *cli.Command, f *app.ServerFiles) error {
	yes, no := c.Bool("trust"), c.Bool("distrust")
	switch {
	case !yes && !no:
		return nil
	case yes && no:
		return app.Usage(errors.New("give --trust or --distrust, not both"))
	}
	own, err := f.ChangedOwn()
	if err != nil {
		return err
	}
	f.Own, f.OwnOnly = own, f.Digest == ""
	switch {
	case f.OwnOnly && (no || len(own) == 0):
		return app.Usage(fmt.Errorf("there is no %s to allow", f.Workspace))
	case f.Wrong != nil && yes:
		return app.Usage(f.Wrong)
	}
	yes, err = a.decision(ctx, f, yes)
	if err == nil {
		err = f.Keep(yes)
	}
	if err != nil {
		return err
	}
	if yes {
		a.Say(a.Err, "allowed, until the file or what they start from changes; agent tools --distrust takes it back")
	} else {
		a.Say(a.Err, "not allowed")
	}
	return nil
}

// decision shows the file, and asks at a terminal whether what was seen is allowed. Elsewhere the
// flag is the word.
func (a toolsCommand) decision(ctx context.Context, f *app.ServerFiles, wanted bool) (bool, error) {
	if wanted {
		if t, err := terminal.OpenPrompt(); err == nil {
			defer t.Close()
			yes, err := putTrust(ctx, t, f.Shown(), f.Workspace)
			if errors.Is(err, app.ErrNoAnswer) {
				err = errors.New("there is no decision on it, so nothing is changed")
			}
			return yes, err
		}
	}
	a.Say(a.Err, "%s", strings.TrimRight(f.Shown(), "\n"))
	return wanted, nil
}
