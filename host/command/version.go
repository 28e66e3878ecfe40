package command

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/view"
)

const versionHelp = `Prints the version of this binary. It opens nothing and reads nothing.

EXAMPLE
   agent version
   agent version --json

EXIT STATUS
   0 printed, 2 wrong usage`

type versionCommand struct{ *commandLine }

func (a versionCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of this binary",
		Description: versionHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.run,
	}
}

func (a versionCommand) run(_ context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	return a.printVersion(c.Bool("json"))
}

func (a versionCommand) printVersion(asJSON bool) error {
	v := view.Version{Version: 1, Agent: Version, Revision: Revision, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		fillVersion(&v, info)
	}
	if asJSON {
		a.PrintJSON(v)
		return nil
	}
	revision := ""
	if v.Revision != "" {
		revision = " " + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			revision += "+"
		}
	}
	driver := ""
	if v.SQLite != "" {
		driver = ", sqlite driver " + v.SQLite
	}
	a.Say(a.Out, "agent %s%s (%s, %s/%s%s)", v.Agent, revision, v.Go, v.OS, v.Arch, driver)
	return nil
}

func fillVersion(v *view.Version, info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Path == "modernc.org/sqlite" {
			v.SQLite = m.Version
		}
	}
}

// noArguments refuses what a command would otherwise ignore silently.
func noArguments(c *cli.Command) error {
	if c.Args().Present() {
		return app.Usage(fmt.Errorf("agent %s takes no argument: %q", c.Name, c.Args().First()))
	}
	return nil
}
