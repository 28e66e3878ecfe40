package lines

import (
	"context"
	"errors"
	"io"

	"agent/host"
	"agent/host/app"
	"agent/host/follow"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

// sinceError is a cursor that does not belong to the run, with what to do instead.
type sinceError struct{ *watch.CursorError }

// Fixes are the commands that begin elsewhere.
func (e *sinceError) Fixes() []view.Fix {
	follow := "agent show " + e.Run + " --follow --output-format stream-json"
	return []view.Fix{{Does: "all of it", Command: follow + " --since 0"}, {Does: "from here on", Command: follow}}
}

// Unwrap is what does not belong.
func (e *sinceError) Unwrap() error { return e.CursorError }

// Follow writes a run that another process drives, or nobody: where it stands, the facts after
// since, and what happens, until the run ends, until it is interrupted and nobody drives it, or
// until ctx is done, which is no error. Without since the facts begin behind where the run stands.
// The last line is the outcome, whose exit code is returned.
func (s *Stream) Follow(ctx context.Context, f *app.Folder, run string, since *watch.Cursor) (code int, err error) {
	t, err := follow.NewTail(ctx, f, run)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	t.Waits = true
	if since != nil {
		err = since.Check(ctx, f.Store, run)
		if other := new(watch.CursorError); errors.As(err, &other) {
			err = &sinceError{other}
		}
		if err != nil {
			return 0, err
		}
	}
	v, here, err := snapshot(ctx, f, run)
	if err != nil {
		return 0, err
	}
	if since == nil {
		since = here
	}
	if err := s.w.line(run, watch.TypeSnapshot, v); err != nil {
		return 0, err
	}
	for !s.w.failed {
		lines, err := t.Next(ctx, since)
		s.w.write(lines)
		switch {
		case ctx.Err() != nil:
			return 0, nil
		case errors.Is(err, io.EOF):
			v, err := outcome(ctx, f, run)
			if err == nil {
				err = s.w.line(run, watch.TypeOutcome, v)
			}
			s.printed = err == nil
			return v.ExitCode, err
		case err != nil:
			return 0, err
		}
	}
	return 0, nil
}

// outcome is how far a run came, as its record says. Of one in which a newer binary wrote, its row
// says it.
func outcome(ctx context.Context, f *app.Folder, run string) (view.Outcome, error) {
	now, err := f.Now(ctx, run)
	if err != nil {
		return view.Outcome{}, err
	}
	st, err := f.State(ctx, run)
	var out host.Outcome
	switch {
	case err == nil:
		out = f.Finished(st)
	case errors.As(err, new(*journal.UnknownFactError)):
		out = host.Outcome{Run: run, Thread: now.Thread, Cause: now.Cause, Detail: now.Detail, Text: now.StopReason, Request: now.Request, Turns: now.Turns, Calls: now.Calls}
	default:
		return view.Outcome{}, err
	}
	out.Status = now.Status
	return f.Outcome(out, view.OutcomeCode(out)), nil
}
