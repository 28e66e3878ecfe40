package app

import (
	"context"
	"errors"

	"agent/db"
	"agent/host"
	"agent/host/undo"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Outcome completes an outcome with what only the record knows.
func (s *Folder) Outcome(o host.Outcome, code int) view.Outcome {
	v := view.NewOutcome(o, code, fault.Now())
	v.LastWords, v.Files = s.LastWords(o), s.Files(o)
	if _, b := s.LastFault(o); b != nil {
		v.Fault, v.Remedy = b.Fault, b.Remedy
	}
	if len(v.Next) == 0 {
		if next := s.Onward(o); next != "" {
			v.Next = []string{next}
		}
	}
	v.Next = append(v.Next, view.DecideCommands(v.Unknown)...)
	return v
}

// Files counts what a run that ended has changed; nil for nothing.
func (s *Folder) Files(o host.Outcome) *view.FileCounts {
	if !o.Status.Terminal() || o.Calls+o.Below.Calls == 0 {
		return nil
	}
	return undo.Changed(context.Background(), &s.Process, o.Run)
}

// Onward is the command that goes on after a run that failed; empty where there is none.
func (s *Folder) Onward(out host.Outcome) string {
	v, err := s.Now(context.Background(), out.Run)
	if err != nil || v.Status != recovery.StatusFailed || !v.Continues(true) || len(v.Next) == 0 || v.Next[0] != v.ContinueWith() {
		return "" // the run can be shown: its id stands in the line above
	}
	return v.Next[0]
}

// LastWords is what the model said last in a run that failed: the reason is only its first line.
func (s *Folder) LastWords(out host.Outcome) string {
	if out.Status != recovery.StatusFailed {
		return ""
	}
	ctx := context.Background()
	head, err := s.Store.Head(ctx, out.Run)
	if err != nil {
		return "" // the reason stands in the outcome
	}
	for from := head.Seq - 1; from >= 0; from-- {
		for e, err := range s.Store.Load(ctx, out.Run, from) {
			if err != nil {
				return "" // as above
			}
			if b, ok := e.Body.(journal.RunFailed); ok {
				return b.Text
			}
			break // a decision on a call that came after the end
		}
	}
	return ""
}

// LastFault is why the model brought no answer, with the model, where that is what interrupted the
// run; else nil.
func (s *Folder) LastFault(out host.Outcome) (string, *journal.ModelFailed) {
	if out.Cause != journal.CauseModel {
		return "", nil
	}
	ctx := context.Background()
	head, err := s.Store.Head(ctx, out.Run)
	if err != nil {
		return "", nil // the cause stands in the outcome
	}
	var last *journal.ModelFailed
	for e, err := range s.Store.Load(ctx, out.Run, max(0, head.Seq-3)) {
		if err != nil {
			return "", nil // as above
		}
		if b, ok := e.Body.(journal.ModelFailed); ok {
			last = &b
		}
	}
	row, err := s.Store.Run(ctx, out.Run)
	if err != nil {
		return "", nil // as above
	}
	return row.Model, last
}

// Busy completes the refusal of a prompt for a thread that is taken; another error stays as it is.
func (s *Folder) Busy(ctx context.Context, err error) error {
	var busy *db.ThreadBusyError
	if !errors.As(err, &busy) {
		return err
	}
	v, viewErr := s.Now(ctx, busy.Run)
	if viewErr != nil {
		return errors.Join(err, viewErr)
	}
	return view.NewBusyError(busy, v, fault.Now())
}
