package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/serve"
	"agent/host/serve/unit"
)

const serveHelp = `Serves the runs of the state folder to programs, over HTTP on a unix socket
there, until it is stopped: lists, facts, questions, and what happens as
server-sent events. It takes answers, and asks runs to end. It drives no run:
whatever becomes of it, runs go on. One server serves a state folder.

At its start, and while it is up, it has runs go on in the background that a
crash or a restart of the machine interrupted: agent help background. A run
whose process died goes on after 1, 5 and 25 seconds; one that makes no
progress is left alone. Each is named with the reason.

A program needs the token in the file token of the state folder. See agent
help server.

EXAMPLE
   agent serve
   agent serve --web
   agent serve --unit systemd > ~/.config/systemd/user/agent.service

EXIT STATUS
   0 it was stopped; 1 another process serves already or has the port, or the
   state folder cannot be used; 2 wrong usage`

type serveCommand struct{ *commandLine }

func (a serveCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "serve",
		Usage:       "show runs to programs, and take their answers",
		Description: serveHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "unit", Usage: "print a file with which `PROGRAM`, systemd or launchd, starts the server when you log in, and do nothing else"},
			&cli.StringFlag{Name: "recover", Usage: "have `WHICH` interrupted runs go on: background, all or none (default: [serve] recover of config.toml, else background)"},
			&cli.BoolFlag{Name: "web", Usage: "show the page to browsers of this machine: see agent web"},
			portFlag(),
		},
		Action: a.run,
	}
}

func (a serveCommand) run(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.IsSet("unit") {
		return a.unit(c.String("unit"))
	}
	how := host.Carry(c.String("recover"))
	if c.IsSet("recover") && !slices.Contains([]host.Carry{host.CarryBackground, host.CarryAll, host.CarryNone}, how) {
		return app.Usage(fmt.Errorf("--recover %q: choose background, all or none", how))
	}
	return a.serve(ctx, serve.Options{Recover: how, Web: c.Bool("web"), Port: c.Int("port")})
}

// serve serves until ctx is done. A server whose disk was full is followed by another one in this
// process.
func (a serveCommand) serve(ctx context.Context, o serve.Options) error {
	for {
		server, err := a.once(ctx, o)
		if !errors.Is(err, serve.ErrRoom) {
			return err
		}
		o = serve.After(server)
	}
}

// once serves with a folder that is opened and closed.
func (a serveCommand) once(ctx context.Context, o serve.Options) (*serve.Server, error) {
	s, err := a.open(ctx, app.Drive) // which makes the state folder
	if errors.Is(err, app.ErrDiskFull) {
		var read error
		if s, read = a.open(ctx, app.Read); !errors.Is(read, app.ErrNoState) { // else there is nothing to read
			err = read
		}
	}
	if errors.Is(err, app.ErrReadOnly) || errors.Is(err, syscall.EROFS) {
		home, _ := a.Home() // it was found to be opened
		err = &serve.ReadOnlyError{Home: home, Err: err}
	}
	if err != nil {
		return nil, err
	}
	carrier, err := s.carrier()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	o.App, o.Folder, o.Carrier = a.App, s.Folder, carrier
	// A thousand observers leave little that lives and much that does not: collected twice as
	// often, the server stays below 95 MB with them, where it would have 105 to 120.
	if a.Env("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	o.Say = func(format string, args ...any) { a.Say(a.Err, format, args...) }
	server, err := serve.New(o)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return server, errors.Join(server.Serve(ctx), s.close())
}

// unit prints a file that starts a server.
func (a serveCommand) unit(kind string) error {
	if !slices.Contains(unit.Kinds(), kind) {
		return app.Usage(fmt.Errorf("--unit %q: choose systemd or launchd", kind))
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary: %v", err)
	}
	home, err := a.Home()
	if err != nil {
		return err
	}
	a.Say(a.Out, "%s", strings.TrimSuffix(unit.Text(kind, exe, home), "\n"))
	return nil
}
