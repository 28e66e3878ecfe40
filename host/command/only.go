package command

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"
)

// here gives a command the flag that leaves out what belongs to other folders.
func (a *commandLine) here(c *cli.Command, usage string) *cli.Command {
	f := &cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: usage, Destination: &a.dir}
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
