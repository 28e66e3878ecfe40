// Package command is the command line: one command a file, each with its constructor and its run
// function.
//
// An error is one line in lower case that says what was attempted; a line below it names the
// command that helps. What goes where on a terminal is written in package terminal, the names in
// JSON in package view.
package command

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/complete"
	"agent/host/flags"
	"agent/host/githook"
	"agent/host/launch"
	"agent/host/lines"
	"agent/host/optionlines"
	"agent/host/signals"
	"agent/host/talk"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/fault"
)

// Version of the binary. A release sets it with -ldflags "-X agent/host/command.Version=...".
var Version = "0.1.0"

// Revision is the commit of a release, set as Version is; else what go build records counts.
var Revision = ""

// IO is where a command reads and writes.
type IO struct {
	terminal.Terminal
	Dir  func() (string, error)
	Desk *talk.Desk // of a conversation; nil outside of one
}

// Standard is the process's own streams.
func Standard() IO {
	return IO{Terminal: terminal.Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}, Dir: os.Getwd}
}

// Main runs one command and returns the exit code.
func Main(args []string, std IO) int {
	warning, err := fault.Arm()
	if err != nil {
		fmt.Fprintf(std.Err, "agent: %v\n", err)
		return view.ExitUsage
	}
	if len(args) > 1 && args[1] == complete.Command {
		a := newCommandLine(std)
		(&complete.Completer{App: a.App, Root: a.root, Out: a.Out}).Complete(context.Background(), args[2:])
		return view.ExitDone
	}
	if len(args) > 1 && args[1] == githook.Command {
		return githook.Main(args[2:], newCommandLine(std).Home)
	}
	if err := fits(); err != nil {
		fmt.Fprintf(std.Err, "agent: %v\n", err)
		return view.ExitFailed
	}
	if len(args) == 2 && args[1] == launch.Command {
		return driveMain(std, warning)
	}
	if converses(args, std) {
		return converse(std, warning)
	}
	return carryOut(args, std, warning, nil)
}

// carryOut carries out a command line, as d where it does that for another process.
func carryOut(args []string, std IO, warning string, d *driver) (code int) {
	ctx, stops := signals.Watch(context.Background())
	defer stops.End()
	if len(args) == 2 && slices.Contains([]string{"--help", "-help", "-h"}, args[1]) {
		args = []string{args[0], "help"} // which lists the topics too
	}
	std.Watch()
	a := newCommandLine(std)
	a.args, a.armed, a.stops, a.driver = args, warning, stops, d
	a.told = func() error { return context.Cause(ctx) }
	defer func() {
		if p := recover(); p != nil {
			code = a.panicked(p, debug.Stack())
		}
	}()
	if warning != "" {
		fmt.Fprintf(std.Err, "agent: %s\n", warning)
	}
	return a.missed(a.exit(a.root().Run(ctx, args)))
}

// catchStops has a command catch the signals to stop before it acts.
func (a *commandLine) catchStops(ctx context.Context, _ *cli.Command) (context.Context, error) {
	a.stops.Catch()
	return ctx, nil
}

// commandLine is what all commands have in common.
type commandLine struct {
	IO
	*app.App
	args   []string // as they were typed, with the binary's name
	armed  string   // what is said about an armed fault point
	answer app.AnswerFile
	drove  bool   // a run was driven: the exit code is its own
	dir    string // folder whose runs alone are meant
	about  string // id of the run that the command is about
	stops  *signals.Stops
	handed string        // id of a run that goes on in the background
	lines  *lines.Stream // of --output-format stream-json; else nil
	driver *driver       // nil where the command was typed
	told   func() error  // why the command was asked to stop; nil while it was not
}

func newCommandLine(std IO) *commandLine {
	return &commandLine{IO: std, App: &app.App{
		Env: std.Getenv, Version: Version, Complaints: std.Err,
		Notice: func(line string) { std.Say(std.Err, "agent: %s", line) },
	}}
}

// Tree is all commands with their flags, for what describes them, such as manual pages.
func Tree() *cli.Command { return newCommandLine(Standard()).root() }

func (a *commandLine) root() *cli.Command {
	return &cli.Command{
		Name:            "agent",
		Usage:           "host AI agents that survive anything",
		Description:     rootHelp,
		Version:         Version,
		HideVersion:     true,
		HideHelpCommand: true,
		Suggest:         true,
		Reader:          a.In,
		Writer:          optionlines.New(a.Out, a.Width), // which help alone is written to
		ErrWriter:       a.Err,
		ExitErrHandler:  func(context.Context, *cli.Command, error) {}, // exit codes are made in one place: exit
		OnUsageError:    a.wrongUsage,
		Commands:        a.commands(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "version", Usage: "print the version", Local: true},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show the log on stderr", Destination: &a.Verbose},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Bool("version") && !c.Args().Present() {
				return versionCommand{a}.printVersion(false)
			}
			if c.Args().Present() {
				return flags.NoSuchCommand(c)
			}
			return c.Command("help").Run(ctx, nil)
		},
	}
}

const rootHelp = `Give it a prompt; it calls a model, runs the tools that the model asks for,
asks you when it must, and writes down every fact before acting on it. Kill
it anywhere, by any means, and it continues where it was. Without a command,
at a terminal, it begins a conversation: /help there says more.

EXAMPLE
   agent
   agent run "why does make test fail? fix it"
   agent run --runbook -f release.md
   agent ls
   agent resume last

EXIT STATUS
   0  done                     4  interrupted: it can be resumed
   1  failed, or refused       5  a call's outcome is unknown: you decide
   2  wrong usage              6  cancelled by a person
   3  waiting for an answer`
