package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/owner"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Taken says what became of an answer.
type Taken struct {
	Request db.PendingRow
	Outcome drive.Outcome // where this process drove the run on
	Drove   bool
	Owner   string // who holds the run, when it was neither driven here nor seen to be taken
}

// ownerPatience is how long an answering process waits to see the owner take the answer.
const ownerPatience = 5 * time.Second

// lookAgain is how often it looks whether that owner let go meanwhile.
const lookAgain = 200 * time.Millisecond

// GoOn has a run go on that has its answer. An *owner.HeldError says that its owner lives; an
// outcome without a run, that it goes on elsewhere.
type GoOn func(ctx context.Context, run string) (drive.Outcome, error)

// GoOnHere drives a run on in this process.
func (h *Host) GoOnHere(ctx context.Context, run string) (drive.Outcome, error) {
	return h.Resume(ctx, run, drive.Changes{}, nil)
}

// Answer resolves a pending request, once, and has the run go on unless its owner sees to that. A
// nil on only records the answer.
func (h *Host) Answer(ctx context.Context, id string, answer json.RawMessage, on GoOn) (Taken, error) {
	if on != nil {
		if err := h.Store.MayDrive(ctx); err != nil {
			return Taken{}, fmt.Errorf("answer %s: %w", id, err)
		}
	}
	if err := asks(ctx, h, id); err != nil {
		return Taken{}, fmt.Errorf("answer %s: %w", id, err)
	}
	if err := h.current(ctx, id, answer); err != nil {
		return Taken{}, err
	}
	row, err := h.Store.Answer(ctx, id, answer, h.By(ctx))
	if err != nil {
		return Taken{}, err
	}
	fault.Hit(fault.AnswerRecorded)
	drive.SaveRules(&h.Process, h.Env, row.Run, row.Request, answer)
	if on == nil {
		_, err := h.Reconcile(ctx, true)
		return Taken{Request: row}, err
	}
	return h.deliver(ctx, row, on)
}

// OutdatedError refuses an answer that an older version offered, and that would grant less now than
// it promised then.
type OutdatedError struct {
	Request, Run string
	Never        bool // never is offered
}

func (e *OutdatedError) Error() string {
	words := "yes or no"
	if e.Never {
		words = "yes, no or never"
	}
	return fmt.Sprintf("%s was asked by an older version: answer %s, or agent resume %s", e.Request, words, e.Run)
}

// current refuses an answer with *OutdatedError.
func (h *Host) current(ctx context.Context, id string, answer json.RawMessage) error {
	if !strings.HasPrefix(journal.Text(answer), journal.AnswerAlways) {
		return nil
	}
	row, err := h.Store.PendingByID(ctx, id)
	if err == nil && row.Status == db.RequestOpen && recovery.Outdated(row.Request) {
		err = &OutdatedError{id, row.Run, slices.Contains(row.Request.Choices, journal.AnswerNever)}
	}
	return err
}

// deliver makes sure that somebody takes the answer: who has the run go on, once nobody holds it,
// or the owner, seen by its fact.
func (h *Host) deliver(ctx context.Context, row db.PendingRow, on GoOn) (Taken, error) {
	taken := Taken{Request: row}
	root, err := rootOf(ctx, h, row.Run)
	if err != nil {
		return taken, err
	}
	wait, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	w, err := stream.NewWaker(h.Store.Files()...)
	if err != nil {
		return taken, err
	}
	defer w.Close()
	for {
		out, err := on(ctx, root)
		var held *owner.HeldError
		var done *drive.FinishedError
		switch {
		case errors.As(err, &done):
			return taken, nil // its owner took the answer and ended
		case !errors.As(err, &held):
			taken.Outcome, taken.Drove = out, true
			if err != nil && out.Run == "" && !errors.As(err, new(*drive.RecordLostError)) {
				err = fmt.Errorf("the answer to %s is kept, but: %w", row.ID, err)
			}
			return taken, err
		}
		now, err := h.Store.PendingByID(ctx, row.ID)
		if err != nil || now.ConsumedSeq > 0 {
			return taken, err
		}
		select {
		case <-w.C():
		case <-time.After(lookAgain): // an owner that parks its run lets go after its last fact
		case <-wait.Done():
			taken.Owner = held.Holder.String()
			return taken, nil
		}
	}
}

// ErrCancelKept says that a run's end will come without whoever asked for it.
var ErrCancelKept = errors.New("it is asked for and kept")

// AskCancel asks for a run's end and leaves it to others to see to it. When it returns, that is
// durable. It returns the run as it was; one that had ended is asked for nothing.
func (h *Host) AskCancel(ctx context.Context, run string) (db.RunRow, error) {
	if err := h.repairRun(ctx, run); err != nil {
		return db.RunRow{}, err
	}
	row, err := h.Store.Run(ctx, run)
	if err != nil || row.Status.Terminal() {
		return row, err
	}
	if err := decides(ctx, h, run); err != nil {
		return row, fmt.Errorf("cancel run %s: %w", run, err)
	}
	if _, err := h.Store.PutInbox(ctx, run, drive.InboxCancel, json.RawMessage("{}"), h.By(ctx)); err != nil {
		return row, fmt.Errorf("cancel run %s: %w", run, err)
	}
	return row, nil
}

// CancelKept says that somebody asked for a run's end, and whoever drives it next ends it.
func (h *Host) CancelKept(ctx context.Context, run string) (bool, error) {
	rows, err := h.Store.Inbox(ctx, run)
	return slices.ContainsFunc(rows, func(r db.InboxRow) bool { return r.Kind == drive.InboxCancel }), err
}

// Cancel asks for a run's end and sees to it: through its owner, or in this process.
func (h *Host) Cancel(ctx context.Context, run string) (drive.Outcome, error) {
	row, err := h.AskCancel(ctx, run)
	if err != nil {
		return drive.Outcome{}, err
	}
	if row.Status.Terminal() {
		return ended(ctx, h, row)
	}
	if row.Root != "" {
		return cancelChild(ctx, h, row)
	}
	return h.end(ctx, run)
}

// end sees to the end of a run, which was asked for: its owner ends it, or this process.
func (h *Host) end(ctx context.Context, run string) (drive.Outcome, error) {
	w, err := stream.NewWaker(h.Store.Files()...)
	if err != nil {
		return drive.Outcome{}, err
	}
	defer w.Close()
	for {
		out, err := drive.ClaimToEnd(ctx, &h.Process, run)
		var held *owner.HeldError
		var done *drive.FinishedError
		if bad := new(db.CorruptError); errors.As(err, &bad) && bad.Run == run {
			out, err = h.cancelUnread(ctx, run, bad)
		}
		switch {
		case errors.As(err, &done):
			return h.Finished(done.State), nil
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return out, fmt.Errorf("cancel run %s: %w; this command was stopped before it saw the end", run, ErrCancelKept)
		case !errors.As(err, &held):
			return out, err
		}
		select {
		case <-w.C():
		case <-ctx.Done():
			return drive.Outcome{}, fmt.Errorf("cancel run %s: %w; %s has not ended it yet", run, ErrCancelKept, held.Holder)
		}
	}
}

// ended is the outcome of a run that has ended, also of one whose journal cannot be folded.
func ended(ctx context.Context, h *Host, row db.RunRow) (drive.Outcome, error) {
	out, err := h.finished(ctx, row.ID)
	if errors.As(err, new(*db.CorruptError)) {
		return unreadOutcome(row), nil
	}
	return out, err
}

func (h *Host) finished(ctx context.Context, run string) (drive.Outcome, error) {
	s, err := h.State(ctx, run)
	if err != nil {
		return drive.Outcome{}, err
	}
	return h.Finished(s), nil
}

// Withdraw cancels a pending request: its call learns that nobody will answer.
func (h *Host) Withdraw(ctx context.Context, id string) (db.PendingRow, error) {
	if err := asks(ctx, h, id); err != nil {
		return db.PendingRow{}, fmt.Errorf("withdraw %s: %w", id, err)
	}
	row, err := h.Store.CancelRequest(ctx, id, h.By(ctx))
	if err != nil {
		return row, err
	}
	_, err = h.Reconcile(ctx, true)
	return row, err
}
