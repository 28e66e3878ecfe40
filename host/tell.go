package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"agent/db"
	"agent/db/family"
	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/journal"
)

// DeafError says that a run takes no message, and what does.
type DeafError struct {
	Run  string
	Why  string
	Does string
	Next []string // commands that do so

	Ended bool // the run has
}

func (e *DeafError) Error() string { return fmt.Sprintf("tell run %s: %s", e.Run, e.Why) }

// Told is a message that was left for the model of a run.
type Told struct {
	ID     int64
	Run    db.RunRow // as it was right before
	Driven bool      // a process drives the run now
}

// Tell leaves a message for the model of a run. Once it returns the message is durable: the model
// gets it once, with the next request, whoever makes that. *DeafError says that no model would.
func Tell(ctx context.Context, h *Host, run, text string) (Told, error) {
	var t Told
	if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
		return t, fmt.Errorf("tell run %s: the message is empty, or no text", run)
	}
	if err := h.repairRun(ctx, run); err != nil {
		return t, err
	}
	var err error
	if t.Run, err = h.Store.Run(ctx, run); err != nil {
		return t, err
	}
	if err := decides(ctx, h, run); err != nil {
		return t, fmt.Errorf("tell run %s: %w", run, err)
	}
	s, err := h.Reader().Alone(run, h.Reader().Shown(ctx))
	if err != nil {
		return t, err
	}
	if err := hears(ctx, h, t.Run, s); err != nil {
		return t, err
	}
	body, err := json.Marshal(journal.MessageAdded{Text: text})
	if err != nil {
		return t, fmt.Errorf("tell run %s: %w", run, err)
	}
	t.ID, err = h.Store.PutInbox(ctx, run, drive.InboxTell, body, h.By(ctx))
	var ended *db.EndedError
	if errors.As(err, &ended) {
		return t, deaf(t.Run, ended.Status)
	}
	if err != nil {
		return t, fmt.Errorf("tell run %s: %w", run, err)
	}
	root, err := rootOf(ctx, h, run)
	if err == nil {
		_, t.Driven, err = h.Owner(root)
	}
	return t, err
}

// hears says why no model would get a message for a run; nil where one does.
func hears(ctx context.Context, h *Host, row db.RunRow, s *recovery.State) error {
	switch {
	case s.Status.Terminal():
		return deaf(row, s.Status)
	case s.Moved != nil:
		return &DeafError{Run: row.ID, Why: "it went to another store, and goes on there"}
	case s.Created.Flow != nil:
		return partsHear(ctx, h, row.ID)
	case s.Created.Authored:
		return &DeafError{Run: row.ID, Why: "its steps were written before it began, and no model reads a message"}
	}
	return nil
}

// deaf is for a run that has ended.
func deaf(row db.RunRow, status recovery.Status) error {
	return &DeafError{Run: row.ID, Ended: true, Why: fmt.Sprintf("it is %s", status), Does: "go on in its conversation", Next: []string{fmt.Sprintf("agent run --thread %s \"...\"", row.Thread)}}
}

// partsHear names the runs of a flow that have a model.
func partsHear(ctx context.Context, h *Host, flow string) error {
	e := &DeafError{Run: flow, Does: "tell a run of it", Why: "it is a flow, and its phases have models of their own; none of them goes on now"}
	below, err := family.Below(ctx, h.Store, flow)
	for _, r := range below {
		if !r.Status.Terminal() && r.Model != "runbook" {
			e.Why = "it is a flow, and its phases have models of their own"
			e.Next = append(e.Next, fmt.Sprintf("agent tell %s \"...\"", r.ID))
		}
	}
	return errors.Join(err, e)
}
