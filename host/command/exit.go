package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
	"agent/host/lines"
	"agent/host/view"
)

// codeError carries an exit code whose message was already shown.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// withCode turns an outcome's code into the error that a command returns.
func withCode(code int) error {
	if code == view.ExitDone {
		return nil
	}
	return &codeError{code}
}

// exit turns the error of a command into its exit code and shows it. This is the only place that
// does.
func (a *commandLine) exit(err error) int {
	err = a.bySignal(err)
	var code *codeError
	var ended *carry.EndedError
	var wrong *app.UsageError
	switch {
	case err == nil:
		return view.ExitDone
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &ended):
		return ended.Code
	case errors.As(err, &wrong):
		a.Say(a.Err, "agent: %s", a.Redacted(err.Error()))
		return view.ExitUsage
	}
	var unknown *app.UnknownIDError
	if errors.As(err, &unknown) && unknown.Text == "last" {
		err = errors.New(`nothing was run yet; agent run "prompt" starts a run`)
	}
	a.Say(a.Err, "agent: %s", a.Redacted(err.Error()))
	for _, hint := range view.Hints(err) {
		a.Say(a.Err, "       %s", a.Redacted(hint))
	}
	a.LogError(err)
	var commit *app.CommitError
	if errors.As(err, &commit) || errors.Is(err, app.ErrLostRace) || errors.As(err, new(*carry.LostError)) {
		return view.ExitInterrupted
	}
	return view.ExitFailed
}

// bySignal is the error of a command that a signal ended on its way; a run that was driven has an
// outcome instead.
func (a *commandLine) bySignal(err error) error {
	if err == nil || a.told == nil || !strings.Contains(err.Error(), context.Canceled.Error()) { // not every layer keeps it as a value
		return err
	}
	if cause := a.told(); errors.Is(cause, host.ErrShutdown) {
		return fmt.Errorf("stopped by signal before it was done (%w)", cause)
	}
	return err
}

// panicked tells of a fault of this program outside a run's loop, which settles its calls itself,
// and returns the exit code. The trace is for whoever fixes it: it goes into the log, and to stderr
// where that is asked for or there is no log.
func (a *commandLine) panicked(p any, trace []byte) int {
	fmt.Fprintf(a.Err, "agent: panic: %s; nothing recorded is lost: agent ls --interrupted\n", a.Redacted(fmt.Sprint(p)))
	if err := a.LogPanic(p, trace); err != nil || a.Verbose {
		fmt.Fprintf(a.Err, "%s", trace)
	}
	return view.ExitFailed
}

// print writes v as the one object on stdout where --json asks for it; else text prints it.
func (a *commandLine) print(c *cli.Command, v any, text func()) {
	if c.Bool("json") {
		a.PrintJSON(v)
		return
	}
	text()
}

// PrintJSON writes one object on stdout, or what it says as event lines.
func (a *commandLine) PrintJSON(v any) {
	if a.lines != nil {
		a.lines.Print(v)
		return
	}
	a.Terminal.PrintJSON(v)
}

// Printed says whether stdout has what the command prints for programs.
func (a *commandLine) Printed() bool { return a.lines.Printed() || a.Terminal.Printed() }

// oneObject sees to it that with --json a command prints one object also when it is refused.
func (a *commandLine) oneObject(f cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		var err error
		if a.lines, err = lines.Read(c, a.Out); err == nil {
			err = f(ctx, c)
		}
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
	v := refusal(err, a.about, code)
	v.Error = a.Redacted(v.Error)
	a.PrintJSON(v)
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

// missed says that what a command printed is not whole, and returns the exit code: what is done and
// was not delivered has failed for whoever called. A run that ended otherwise keeps its own.
func (a *commandLine) missed(code int) int {
	err := a.Undelivered()
	if err == nil {
		return code
	}
	if !errors.Is(err, syscall.EPIPE) { // else whoever read it has closed it, as head does, and knows
		fmt.Fprintf(a.Err, "agent: write to stdout: %v\n", err)
	}
	if a.handed != "" {
		fmt.Fprintf(a.Err, "run %s goes on in the background: agent attach %s\n", a.handed, a.handed)
	}
	if a.drove {
		fmt.Fprintln(a.Err, "the run's answer is kept: agent show last")
	}
	if code == view.ExitDone {
		return view.ExitFailed
	}
	return code
}
