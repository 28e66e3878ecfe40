package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/owner"
	"agent/host/stream"
	"agent/recovery/journal"
)

// ResolvedError says that a person said already that a call of unknown outcome happened, which is
// the last word on it.
type ResolvedError struct {
	Call string
	By   string
	At   time.Time
}

func (e *ResolvedError) Error() string {
	by := e.By
	if by == "" {
		by = "someone"
	}
	return fmt.Sprintf("answer %s: %s decided already that it happened, on %s", e.Call, by, e.At.Local().Format(time.DateTime))
}

// ErrDecisionKept says that a decision is durable, and not in the journal yet.
var ErrDecisionKept = errors.New("the decision is kept")

// RecordResolution records a person's decision on a call whose outcome is unknown, in whatever
// status its run is, without a model. It returns once the word is in the journal, or says that it
// is kept for the process that drives the run. When somebody said first that the call happened, it
// is a *ResolvedError, and the word is let go.
func (h *Host) RecordResolution(ctx context.Context, c db.CallRow, w journal.Word) error {
	before, err := h.Store.Head(ctx, c.Run)
	if err == nil && !before.Status.Terminal() {
		err = decides(ctx, h, c.Run)
	}
	if err != nil {
		return err
	}
	word := journal.CallResolved{Place: journal.Place{Turn: c.Turn, Index: c.Index}, Word: w, By: h.By(ctx)}
	id, err := drive.PutOwnResolution(ctx, &h.Process, c.Run, word)
	if err != nil {
		return err
	}
	wake, err := stream.NewWaker(h.Store.Files()...)
	if err != nil {
		return err
	}
	defer wake.Close()
	wait, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	for lost := 1; ; {
		err := drive.TakeResolutions(ctx, &h.Process, c.Run, id)
		waiting, inboxErr := h.inInbox(ctx, c.Run, id)
		var held *owner.HeldError
		switch {
		case inboxErr != nil:
			return errors.Join(err, inboxErr)
		case !waiting:
			return errors.Join(notHeld(err), h.holds(ctx, c, word, before.Seq))
		case errors.Is(err, db.ErrLostRace) && lost < drive.ClaimTries: // Reconcile marked the run meanwhile
			lost++
			continue
		case !errors.As(err, &held):
			return err
		}
		select {
		case <-wake.C():
		case <-wait.Done():
			return fmt.Errorf("settle call %s: %w, and %s has not taken it yet", c.ID, ErrDecisionKept, held.Holder)
		}
	}
}

// notHeld leaves out that somebody else drives the run: the word is no longer waiting for anybody.
func notHeld(err error) error {
	if errors.As(err, new(*owner.HeldError)) {
		return nil
	}
	return err
}

// holds looks whether a word that waits no longer is in the journal after the fact numbered from.
// It is not where a person said first that the call happened.
func (h *Host) holds(ctx context.Context, c db.CallRow, word journal.CallResolved, from int64) error {
	var first *ResolvedError
	for e, err := range h.Store.Load(ctx, c.Run, 0) {
		if err != nil {
			return err
		}
		b, ok := e.Body.(journal.CallResolved)
		if !ok || b.Run != "" || b.Turn != word.Turn || b.Index != word.Index {
			continue
		}
		if e.Seq > from && b.Word == word.Word && b.By == word.By {
			return nil
		}
		if b.Word == journal.WordHappened {
			first = &ResolvedError{Call: c.ID, By: b.By, At: e.Time}
		}
	}
	if first == nil {
		return fmt.Errorf("answer %s: the decision was not taken, and no other one is on record; give it again", c.ID)
	}
	return first
}

// Resolved is the conflict in which another word on a call of unknown outcome ends; nil where there
// is room for one.
func (h *Host) Resolved(ctx context.Context, c db.CallRow) error {
	if c.Resolved != journal.WordHappened {
		return nil
	}
	return h.holds(ctx, c, journal.CallResolved{Place: journal.Place{Turn: c.Turn, Index: c.Index}}, 0)
}

func (h *Host) inInbox(ctx context.Context, run string, id int64) (bool, error) {
	rows, err := h.Store.Inbox(ctx, run)
	for _, r := range rows {
		if r.ID == id {
			return true, err
		}
	}
	return false, err
}
