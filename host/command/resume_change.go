package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/flags"
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
