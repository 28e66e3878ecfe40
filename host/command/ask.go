package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/config"
	"agent/host/diff"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// askHere lets the host put questions to the controlling terminal, where there is one and no
// program reads the output.
func (s *session) askHere(c *cli.Command) {
	if !s.app.Interactive() || c.Bool("json") {
		return
	}
	s.show.Notify(s.notices())
	t, err := s.app.Desk.Open()
	if err != nil {
		return // nobody to ask: questions wait, and agent answer answers them
	}
	t.Close()
	s.Env.Ask = s.ask
	s.hearTyped()
	s.AskTrust = func(ctx context.Context, f *app.ServerFiles) (bool, error) {
		release, err := s.show.Alone(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return s.trust(ctx, f)
	}
}

// notices is how the person at the terminal is called when a run waits or has ended.
func (s *session) notices() string {
	conf, err := s.app.Settings("")
	if err != nil || !s.app.Interactive() { // what is wrong with it is reported where a run begins
		return config.NotifyOff
	}
	return conf.Notify
}

// ask puts a question once everything that happened before it is shown. Where a person did not
// start the run that asks, it is named by what it is there for.
func (s *session) ask(ctx context.Context, run string, r journal.Request) (json.RawMessage, error) {
	would, edits := s.would(ctx, run, r)
	if r.Kind == journal.RequestPlan && s.show.CaughtUp(ctx) == nil && s.show.AnswerShown(run) {
		r.Message = recovery.PlanAsked + " (it is above)"
	}
	release, err := s.show.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	t, err := s.app.Desk.Open()
	if err != nil {
		return nil, host.ErrLeftOpen // it went away, or into the background, since
	}
	defer t.Close()
	s.show.MarkShown(r.ID)
	who := ""
	if row, err := s.Store.Run(ctx, run); err == nil && row.Role != "" { // without it the question is put all the same
		who = fmt.Sprintf("%s (%s)", run, row.Role)
	}
	if edits {
		s.show.Would(would)
	}
	answer, err := t.Ask(ctx, who, r)
	if errors.Is(err, terminal.ErrLeftOpen) {
		err = host.ErrLeftOpen
	}
	return answer, err
}

// would is the diff of what a call that waits for permission would make of a file.
func (s *session) would(ctx context.Context, run string, r journal.Request) (view.DiffFile, bool) {
	if r.Kind != journal.RequestPermission || r.Call == nil || s.show.CaughtUp(ctx) != nil {
		return view.DiffFile{}, false
	}
	return diff.NewLive(&s.Process).Asked(run, s.show.Known(run, *r.Call))
}

// trust puts the workspace's file to the person at the terminal.
func (s *session) trust(ctx context.Context, f *app.ServerFiles) (bool, error) {
	t, err := s.app.Desk.Open()
	if err != nil {
		return false, app.ErrNoAnswer
	}
	defer t.Close()
	yes, err := t.Trust(ctx, f.Shown(), f.Workspace)
	if errors.Is(err, terminal.ErrLeftOpen) {
		err = app.ErrNoAnswer
	}
	return yes, err
}
