package command

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

const versionHelp = `Prints the version of this binary. It opens nothing and reads nothing.

EXAMPLE
   agent version
   agent version --json

EXIT STATUS
   0 printed, 2 wrong usage`

// versionJSON is what version prints with --json. Fields are only ever added.
type versionJSON struct {
	Version  int    `json:"version"`
	Agent    string `json:"agent"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from files that differ from the revision
	Go       string `json:"go"`
	SQLite   string `json:"sqlite_driver,omitempty"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version of this binary",
		Description: versionHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.version,
	}
}

func (a *app) version(_ context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	return a.printVersion(c.Bool("json"))
}

func (a *app) printVersion(asJSON bool) error {
	v := versionJSON{Version: 1, Agent: Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.fill(info)
	}
	if asJSON {
		a.printJSON(v)
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
	a.say(a.Out, "agent %s%s (%s, %s/%s%s)", v.Agent, revision, v.Go, v.OS, v.Arch, driver)
	return nil
}

func (v *versionJSON) fill(info *debug.BuildInfo) {
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

// noArguments refuses what a command would otherwise ignore without a word.
func noArguments(c *cli.Command) error {
	if c.Args().Present() {
		return &usageError{fmt.Errorf("agent %s takes no argument: %q", c.Name, c.Args().First())}
	}
	return nil
}
