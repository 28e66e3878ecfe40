package command

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host/app"
)

// here gives a command the flag that leaves out what belongs to other folders.
func (a *commandLine) here(c *cli.Command, usage string) *cli.Command {
	f := &cli.StringFlag{Name: "dir", Usage: usage, Destination: &a.dir}
	c.Flags = slices.Insert(c.Flags, len(c.Flags)-1, cli.Flag(f)) // before --json, which is the last
	return c
}

// only is the folder that --dir names; "" without it. A folder that is gone can be named too: its
// runs are still there.
func (a *commandLine) only() (string, error) {
	if a.dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(a.dir)
	if err != nil {
		return "", fmt.Errorf("look for runs of %s: %v", a.dir, err)
	}
	if there, err := filepath.EvalSymlinks(abs); err == nil {
		abs = there
	}
	return abs, nil
}

// inFolder names the folder of --dir at the end of a sentence; empty without the flag.
func (a *commandLine) inFolder() string {
	only, err := a.only()
	if err != nil || only == "" {
		return ""
	}
	return " in " + a.Tilde(only)
}

// newestHere is the newest run of the folder that --dir names. With the flag nothing else but last
// can be meant.
func (s *session) newestHere(ctx context.Context, text string) (string, error) {
	if text != "last" {
		return "", app.Usage(fmt.Errorf("--dir goes with last: %s says itself which one is meant", text))
	}
	only, err := s.app.only()
	if err != nil {
		return "", err
	}
	row, err := s.Store.LatestRun(ctx, only)
	if err == nil && row == nil {
		err = fmt.Errorf("no run was started%s; all are listed by: agent ls --all", s.app.inFolder())
	}
	if err != nil {
		return "", err
	}
	return row.ID, nil
}
