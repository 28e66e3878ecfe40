package command

import (
	"context"
	"errors"
	"io"

	"agent/host/app"
	"agent/host/diff"
	"agent/host/fork"
	"agent/host/prune"
	"agent/host/records"
	"agent/host/terminal"
	"agent/host/view"
)

// session is an open state folder with what is shown of it.
type session struct {
	*app.Folder
	app     *commandLine
	show    *terminal.Renderer
	several bool         // answers of several runs are printed: each names its run
	tree    *fork.View   // the worktree that was made for the run
	prune   func() error // of a process that drives: removes the old runs that config.toml lets go
}

// open opens the state folder, looks for runs that lost their owner, and says so. app.ErrNoState
// means that nothing was ever run.
func (a *commandLine) open(ctx context.Context, how app.Use) (*session, error) {
	only, err := a.only()
	if err != nil {
		return nil, err
	}
	f, err := a.App.Open(ctx, how)
	if err != nil {
		return nil, err
	}
	f.Only = only
	s := &session{app: a, Folder: f}
	if how != app.Drive {
		s.sayBehind()
	} else {
		s.prune = func() error { return prune.Automatic(ctx, a.App, f) }
	}
	activity := a.Err
	if a.driver != nil && how == app.Drive {
		a.driver.drives(f)
		activity = io.Discard // who watches reads the record
	}
	p := a.Printer(activity)
	p.Diffs, p.Talks = diff.NewLive(&s.Process), a.Desk != nil
	s.show = terminal.NewRenderer(p, s.Hub, records.Records{Store: s.Store})
	a.lines.Drive(f)
	if err := s.Begin(ctx, how); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// sayBehind prints that nothing is driven here and what decides about it. A command that would
// drive is refused with the same.
func (s *session) sayBehind() {
	if b := s.Store.Behind(); b != nil {
		s.app.Say(s.app.Err, "agent: %v", b)
		for _, hint := range view.Hints(b) {
			s.app.Say(s.app.Err, "       %s", hint)
		}
	}
}

// unlessBehind is the error of a list that cannot be whole: the folder knows of more than its
// database.
func (s *session) unlessBehind() error {
	if s.Store.Behind() != nil {
		return withCode(view.ExitFailed)
	}
	return nil
}

// close waits until everything is shown, and closes the folder.
func (s *session) close() error {
	s.End()
	if s.show != nil {
		s.show.Wait()
	}
	s.app.lines.Close()
	if s.prune != nil {
		if err := s.prune(); err != nil {
			s.app.Notice(err.Error()) // no run depends on it
		}
	}
	return s.Folder.Close()
}
