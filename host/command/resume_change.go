package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/flags"
	hostflow "agent/host/flow"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// readResume reads what changes for the run that is named, and its folder where that moved.
func (a resumeCommand) readResume(c *cli.Command) (run string, t host.Changes, err error) {
	a.Idle = c.Duration("idle")
	run, t, err = flags.ReadResume(c)
	if err == nil && a.dir != "" && run != "" && run != "last" {
		t.Folder, err = a.folder(a.dir)
		a.dir = "" // it names no folder to look in
	}
	return run, t, err
}

// changeModel adds the model that --model names to the changes, with its key at hand.
func (s *resuming) changeModel(ctx context.Context, run string) error {
	name := s.c.String("model")
	if name == "" {
		return nil
	}
	st, err := s.State(ctx, run)
	if err != nil {
		return err
	}
	conf, err := s.app.Settings(st.Created.Folder)
	if err != nil {
		return err
	}
	ch, err := s.app.Choose(ctx, conf, app.Wish{Model: name, BaseURL: s.changes.BaseURL}, app.Previous{Effort: st.Created.Setup.Effort})
	if err != nil {
		return err
	}
	how := ch.Setup
	if how.Provider == "" {
		return app.Usage(fmt.Errorf("resume run %s: --model %s: %s asks no provider, so it cannot go on for another model", run, name, ch.Name))
	}
	if err := errors.Join(app.CheckPriced(conf, ch, st.Limits), s.app.FetchKey(ctx, conf, ch)); err != nil {
		return err
	}
	s.changes.Model = &journal.ModelChange{
		Name: ch.Name, Provider: how.Provider, BaseURL: how.BaseURL, Window: how.Window, MaxOutput: how.MaxOutput,
		Effort: how.Effort, Price: how.Price,
	}
	s.changes.BaseURL = "" // the model's own address holds it
	return nil
}

// looser refuses flags of a resume that would loosen what a run goes by.
func (s *resuming) looser(ctx context.Context, run string) error {
	if !flags.Tightens(s.c) {
		return nil
	}
	st, err := s.State(ctx, run)
	if err != nil {
		return err
	}
	return flags.Looser(s.c, run, st.Mode, st.Limits)
}

// redoable refuses a phase that there is not, or that is never done again, before the owner of the
// run is asked to let go for its sake.
func (s *resuming) redoable(ctx context.Context, run string) error {
	name := s.changes.Redo
	if name == "" {
		return nil
	}
	c, err := hostflow.Recorded(ctx, s.Store, run)
	if err != nil {
		return err
	}
	var def *flow.Definition
	if c != nil {
		if def, err = flow.Defined(*c); err != nil {
			return err
		}
	}
	if def == nil {
		return &host.RefusedChangeError{Run: run, Why: fmt.Sprintf("it is no flow, and has no phase %s to do again", name)}
	}
	if err := def.Redoable(name); err != nil {
		return &host.RefusedChangeError{Run: run, Why: err.Error()}
	}
	return nil
}
