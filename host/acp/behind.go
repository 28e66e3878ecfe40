package acp

import (
	"context"
	"errors"
	"fmt"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/host/view"
	"agent/recovery"
)

// What may become of a prompt whose session has a run that has not ended.
const (
	behindIt  = "wait"
	asMessage = "message"
	insteadOf = "end"
	notAtAll  = "drop"
)

// behind asks what is to become of a prompt behind a run that has not ended.
func (s *session) behind(ctx context.Context, row app.RunRow, a asked) (*following, error) {
	option := func(id, name string, kind protocol.PermissionOptionKind) protocol.PermissionOption {
		return protocol.PermissionOption{OptionId: protocol.PermissionOptionId(id), Name: name, Kind: kind}
	}
	first := "wait for it, then mine"
	switch {
	case row.Status == recovery.StatusInterrupted:
		first = "go on with it, then mine"
	case row.Pending != nil:
		first = "answer its question first, then mine"
	}
	options := []protocol.PermissionOption{option(behindIt, first, protocol.PermissionOptionKindAllowOnce)}
	if len(a.pictures) == 0 && row.Pending == nil {
		options = append(options, option(asMessage, "give mine to it as a message", protocol.PermissionOptionKindAllowOnce))
	}
	options = append(options,
		option(insteadOf, "end it for good, then mine", protocol.PermissionOptionKindRejectOnce),
		option(notAtAll, "drop mine", protocol.PermissionOptionKindRejectOnce))
	title := fmt.Sprintf("run %s of this session has not ended: %s (%s)", row.ID, row.Status, view.PromptStart(row.Prompt))
	kind := protocol.ToolKindOther
	picked, err := s.pick(ctx, protocol.ToolCallUpdate{ToolCallId: protocol.ToolCallId("prompt-" + row.ID), Title: &title, Kind: &kind}, options)
	if err != nil {
		return nil, fmt.Errorf("%s; your prompt was not taken: %w", title, err)
	}
	switch picked {
	case asMessage:
		f, err := s.message(row, a.text)
		if deaf := (*host.DeafError)(nil); !errors.As(err, &deaf) || !deaf.Ended {
			return f, err
		}
		err = nil // it ended meanwhile: the prompt is the next
	case behindIt:
		err = s.finished(ctx, row)
	case insteadOf:
		err = s.end(ctx, row)
	default:
		return nil, nil
	}
	if err != nil || s.isEnded() {
		return nil, err
	}
	return s.start(ctx, a, false)
}

// message gives a prompt to the model of a run, which goes on.
func (s *session) message(row app.RunRow, text string) (*following, error) {
	told, err := host.Tell(s.acting(), s.Folder.Host, row.ID, text)
	if err != nil {
		return nil, err
	}
	if told.Driven {
		return s.shownRun(row.ID)
	}
	return s.goesOn(row)
}

// goesOn has a run go on that nobody drives, and shows what comes of it.
func (s *session) goesOn(row app.RunRow) (*following, error) {
	s.leave()
	if err := s.resume(row.ID); err != nil {
		return nil, err
	}
	return s.follow(row.ID, showing{from: row.LastSeq})
}

// resume has a run go on in a process of its own.
func (s *session) resume(run string) error {
	answer, err := s.Carrier.Start(s.acting(), launch.Job{Args: []string{"resume", "--json", "--no-recover", run}, By: s.by()})
	if err != nil && !errors.Is(err, launch.ErrNoAnswer) {
		return fmt.Errorf("go on with run %s: %w", run, err)
	}
	if answer.Ended != nil && answer.Accepted == nil {
		return s.refused(answer, run)
	}
	return nil
}

// finished waits for the end of a run, which goes on first where nobody drives it.
func (s *session) finished(ctx context.Context, row app.RunRow) error {
	var f *following
	var err error
	if row.Status == recovery.StatusInterrupted {
		f, err = s.goesOn(row)
	} else if f, err = s.shownRun(row.ID); err == nil {
		f.forget()
		f.again()
	}
	if err != nil {
		return err
	}
	got, err := s.wait(ctx, f)
	if err != nil {
		return err
	}
	if now, err := s.Folder.Store.Run(ctx, row.ID); err != nil || !now.Status.Terminal() {
		return errors.Join(err, fmt.Errorf("run %s has not ended (%s); your prompt was not taken: give it again", row.ID, got.StopReason))
	}
	return nil
}

// cancel ends the run of a session. It is the only thing of an editor that does.
func (e *editor) cancel(ctx context.Context, p protocol.CancelNotification) (any, error) {
	s, err := e.session(p.SessionId)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.ended = s.busy
	stop := s.stop
	s.mu.Unlock()
	row, err := s.newest(ctx)
	if err == nil && row != nil && !row.Status.Terminal() {
		err = s.cancelRun(row.ID)
	}
	stop()
	return nil, err
}

// end ends a run and waits for that.
func (s *session) end(ctx context.Context, row app.RunRow) error {
	f, err := s.shownRun(row.ID)
	if err == nil {
		err = s.cancelRun(row.ID)
	}
	if err != nil {
		return err
	}
	select {
	case <-f.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// cancelRun asks for a run's end, which is durable then, and sees to it where nobody drives it.
func (s *session) cancelRun(run string) error {
	if _, err := s.Folder.AskCancel(s.acting(), run); err != nil {
		return err
	}
	held, err := s.Folder.Held(run)
	if err != nil || held {
		return err
	}
	_, err = s.Carrier.Start(s.acting(), launch.Job{Args: []string{"cancel", run}, By: s.by()})
	if errors.Is(err, launch.ErrNoAnswer) {
		return nil // the request for its end is kept
	}
	return err
}
