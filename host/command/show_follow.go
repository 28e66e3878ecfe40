package command

import (
	"context"
	"errors"
	"fmt"

	"agent/host/follow"
	"agent/host/terminal"
	"agent/host/view"
	"agent/host/watch"
)

// lines writes a run as event lines.
func (s showing) lines(ctx context.Context, run string, since *watch.Cursor) error {
	s.app.about = run
	code, err := s.app.lines.Follow(ctx, s.Folder, run, since)
	if err == nil && ctx.Err() != nil {
		s.app.Say(s.app.Err, "no longer watching; run %s is not touched by that", run)
	}
	return errors.Join(err, withCode(code))
}

// follow shows a run's past and goes on with what happens. person says how questions are put to who
// watches, and how they are called; nil for nobody.
func (s showing) follow(ctx context.Context, run string, person func(*follow.Follower)) error {
	t := s.printer()
	if _, err := s.head(ctx, t, run); err != nil {
		return err
	}
	f := follow.New(s.Folder, t, run)
	if person != nil {
		person(f)
	}
	if err := f.Follow(ctx); err != nil {
		return err
	}
	return followed(ctx, s.session, t, run)
}

// followed says where the run stands after it was followed, and returns its exit code.
func followed(ctx context.Context, s *session, t *terminal.Printer, run string) error {
	if ctx.Err() != nil {
		t.Line(terminal.Dim, "·", fmt.Sprintf("no longer watching; run %s is not touched by that", run))
		return nil
	}
	if t.Closed() {
		return nil
	}
	v, err := s.Now(ctx, run)
	if err != nil {
		return err
	}
	t.Next(v)
	st, err := s.State(ctx, run)
	if err != nil {
		return err
	}
	out := s.Finished(st)
	out.Status = v.Status
	return withCode(view.OutcomeCode(out))
}
