// Agent-fleet runs agent on many machines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"agent/host/optionlines"
)

// version of the binary. A release sets it with -ldflags "-X main.version=...".
var version = "0.1.0"

// The exit codes, which are those of agent.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends what does not look at the first one
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is wrong usage: exit code 2.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError is an exit code for which everything was printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run carries out one command and gives the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	err := root(out, errs).Run(ctx, args)
	var wrong usageError
	var code exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(errs, "agent-fleet: %s\n", inWords(err.Error()))
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailed
}

// inWords says what the connection to the engine leaves bare.
func inWords(text string) string {
	return strings.ReplaceAll(text, "no children to pick from", "the engine does not answer: it is down, or at another address (--engine HOST:PORT)")
}

func commands() []*cli.Command {
	return []*cli.Command{
		runCommand(), lsCommand(), showCommand(), answerCommand(), cancelCommand(), moveCommand(), resumeCommand(),
		attachCommand(), scheduleCommand(), workerCommand(), drainCommand(), setupCommand(), doctorCommand(), historyCommand(),
		keyCommand(), logCommand(), witnessCommand(),
	}
}

func root(out, errs io.Writer) *cli.Command {
	c := &cli.Command{
		Name: "agent-fleet", Usage: "run agent on many machines", Version: version,
		Writer:    optionlines.New(out, func() int { return width(out) }), // which help alone is written to
		ErrWriter: errs, ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Commands: commands(),
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usage("there is no command %.40q; agent-fleet help lists them", c.Args().First())
			}
			return cli.ShowRootCommandHelp(c)
		},
	}
	strict(c)
	return c
}

// stdout is where a command prints what it was asked for.
func stdout(c *cli.Command) io.Writer { return c.Root().Writer.(*optionlines.Writer).To }

// width is that of a terminal in columns; 0 for what is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// strict has every command report wrong usage as such, and print no help for it.
func strict(c *cli.Command) {
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		text := strings.TrimSpace(err.Error())
		return usage("%s; %s --help shows how", strings.ToLower(text[:1])+text[1:], c.FullName())
	}
	for _, sub := range c.Commands {
		strict(sub)
	}
}

// arguments refuses another number of arguments than from least to most.
func arguments(c *cli.Command, least, most int) error {
	if n := c.Args().Len(); n < least || n > most {
		return usage("%s %s: %d arguments were given; %s --help shows how", c.FullName(), c.ArgsUsage, n, c.FullName())
	}
	return nil
}
