package command

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/owner"
	"agent/host/view"
	"agent/recovery/fault"
)

// oneObject sees to it that with --json a command prints one object also when it is refused.
func (a *commandLine) oneObject(f cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		err := f(ctx, c)
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
	a.PrintJSON(refusal(err, a.about, code))
	return withCode(code)
}

// refusal is the object about an error. run is what the command was about, as far as it is known.
func refusal(err error, run string, code int) view.Refusal {
	v := view.Refusal{Version: 1, RunID: run, Status: "refused", ExitCode: code, Error: err.Error(), Next: []string{}}
	for _, m := range mends(err) {
		v.Next = append(v.Next, m.command)
	}
	var shown *codeError
	var held *owner.HeldError
	var busy *app.ThreadBusyError
	switch {
	case errors.As(err, &busy):
		v.RunID, v.ThreadID, v.RunStatus, v.Reused = busy.Run, busy.Thread, busy.Status, true
	case errors.As(err, &held):
		v.RunID, v.Reused = held.Run, true
	case errors.As(err, &shown):
		v.Error = "" // it stands on stderr
	}
	return v
}

// mend is a command that mends an error, with what it does.
type mend struct{ does, command string }

// busyError is a thread whose latest run has not ended, with what can be done about that run as it is now.
type busyError struct {
	*app.ThreadBusyError
	mends []mend
}

// Unwrap is the thread.
func (e *busyError) Unwrap() error { return e.ThreadBusyError }

// busy completes the refusal of a prompt for a thread that is taken: what is to be done depends on who drives its run.
func (s *session) busy(ctx context.Context, err error) error {
	var busy *app.ThreadBusyError
	if !errors.As(err, &busy) {
		return err
	}
	v, viewErr := s.runNow(ctx, busy.Run)
	if viewErr != nil {
		return errors.Join(err, viewErr)
	}
	out := &busyError{ThreadBusyError: busy}
	if v.Request != nil && !v.Expired(fault.Now()) {
		for _, command := range view.AnswerCommands(v.Request) {
			out.mends = append(out.mends, mend{"answer it", command})
		}
	}
	if v.Owner != nil {
		out.mends = append(out.mends, driven(v.ID)...)
	} else {
		out.mends = append(out.mends, mend{"go on with it", "agent resume " + v.ID})
	}
	out.mends = append(out.mends, mend{"end it", "agent cancel " + v.ID})
	return out
}

// driven is what can be done about a run that a process drives.
func driven(run string) []mend {
	return []mend{{"watch it", "agent show --follow " + run}, {"take it over", "agent resume --takeover " + run}}
}

func mends(err error) []mend {
	var held *owner.HeldError
	var busy *busyError
	var finished *host.FinishedError
	var none *noModelError
	var nothing *nothingToResumeError
	switch {
	case errors.As(err, &nothing):
		return nothing.mends
	case errors.As(err, &none) && none.command != "":
		return []mend{{"carry it out", none.command}}
	case errors.As(err, &held):
		return driven(held.Run)
	case errors.As(err, &busy):
		return busy.mends
	case errors.As(err, new(*app.BehindError)):
		return []mend{{"see and decide", "agent restore --here"}}
	case errors.As(err, &finished):
		return []mend{{"see it", "agent show " + finished.State.Created.Run}}
	}
	return nil
}
