package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"agent/host"
	"agent/host/signals"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
)

// begin starts the run. Where its thread is taken by one that has not ended, and a person is at the
// terminal, they say in one key what is to become of the prompt: the run is ended for it, gets it
// as a message, or stays as it is.
func (s starting) begin(ctx context.Context, req host.StartRequest) (host.Outcome, error) {
	out, err := s.Start(ctx, req)
	err = s.Busy(ctx, err)
	var busy *view.BusyError
	if !errors.As(err, &busy) || s.Env.Ask == nil {
		return out, err
	}
	key, askErr := s.steer(ctx, busy, req)
	switch {
	case askErr != nil:
		return out, errors.Join(err, askErr)
	case key == 'e':
		if _, err := s.Cancel(ctx, busy.Run); err != nil {
			return out, err
		}
		s.app.Say(s.app.Err, "agent: run %s is ended", busy.Run)
		return s.Start(ctx, req)
	case key == 'm':
		return s.asMessage(ctx, busy.Run, req.Prompt)
	}
	return out, err
}

// steer asks what is to become of a run that has not ended.
func (s starting) steer(ctx context.Context, busy *view.BusyError, req host.StartRequest) (byte, error) {
	v, err := s.Now(ctx, busy.Run)
	if err != nil {
		return 0, err
	}
	release, err := s.show.Alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	t, err := s.app.Desk.Open()
	if err != nil {
		return 0, err
	}
	defer t.Close()
	whole := req.Input == "" && len(req.Setup.Images) == 0 // a message is text alone
	keys := []terminal.Key{
		{Key: 'e', Does: "ends it for good, and starts this prompt behind it"},
		{Key: 'm', Does: "has it go on, and gives it this prompt as a message"},
		{Key: 'n', Does: "does neither"},
	}
	if v.Owner != nil {
		keys[1].Does = "gives this prompt to it as a message, while it goes on"
	}
	if busy.Status == recovery.StatusWaiting && v.Request != nil {
		keys[1].Does += "; its question stays open"
	}
	if !whole {
		keys = slices.Delete(keys, 1, 2)
	}
	return t.Key(ctx, fmt.Sprintf("run %s of this conversation has not ended: %s: %s",
		v.ID, v.StatusText(s.Process.Now()), view.PromptStart(v.Prompt)), keys)
}

// asMessage gives the model of a run the prompt as a message: through whoever drives it, or here.
func (s starting) asMessage(ctx context.Context, run, prompt string) (host.Outcome, error) {
	told, err := host.Tell(ctx, s.Host, run, prompt)
	if err != nil {
		return host.Outcome{}, err
	}
	if told.Driven {
		s.app.Say(s.app.Err, "agent: the message is kept; watch the run: agent attach %s", run)
		return host.Outcome{}, &codeError{view.ExitDone}
	}
	return s.Resume(ctx, run, host.Changes{}, s.showPlan)
}

// stopPatience is how long a second Ctrl-C is about the command that the first one left running.
const stopPatience = 2 * time.Second

// offerStop asks, where a person presses Ctrl-C once more, whether the command is to end too that
// goes on without this process.
func (s *session) offerStop(out host.Outcome) error {
	if len(out.Running) == 0 || s.Env.Ask == nil || s.app.Desk != nil || !strings.HasSuffix(out.Detail, os.Interrupt.String()) {
		return nil
	}
	if !signals.Again(stopPatience, func() {
		s.app.Say(s.app.Err, "Ctrl-C within 2 seconds asks whether the command is to end too")
	}) {
		return nil
	}
	ctx := context.Background()
	t, err := s.app.Desk.Open()
	if err != nil {
		return nil // the terminal went away: the command goes on
	}
	defer t.Close()
	key, err := t.Key(ctx, "the command goes on", []terminal.Key{
		{Key: 's', Does: "stops it; what it did until now stays"},
		{Key: 'n', Does: "lets it go on"},
	})
	if err != nil || key != 's' {
		return nil //nolint:nilerr // without an answer it goes on
	}
	if err := host.StopRunning(ctx, s.Host, out.Run); err != nil {
		return err
	}
	s.app.Say(s.app.Err, "agent: the command is asked to end; a resume tells the model so")
	return nil
}
