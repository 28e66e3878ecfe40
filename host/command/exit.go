package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/host"
	"agent/host/app"
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
	var wrong *app.UsageError
	switch {
	case err == nil:
		return view.ExitDone
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &wrong):
		fmt.Fprintf(a.Err, "agent: %s\n", a.Redacted(err.Error()))
		return view.ExitUsage
	}
	var unknown *app.UnknownIDError
	if errors.As(err, &unknown) && unknown.Text == "last" {
		err = errors.New(`nothing was run yet; agent run "prompt" starts a run`)
	}
	fmt.Fprintf(a.Err, "agent: %s\n", a.Redacted(err.Error()))
	for _, hint := range view.Hints(err) {
		fmt.Fprintf(a.Err, "       %s\n", a.Redacted(hint))
	}
	a.LogError(err)
	var commit *app.CommitError
	if errors.As(err, &commit) || errors.Is(err, app.ErrLostRace) {
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
