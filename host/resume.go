package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// MaxFruitless is how many claims in a row may bring nothing forward before only a resume by name
// tries again.
const MaxFruitless = 3

// Resume claims a run and drives it on. shown gets what is replayed before anything runs; each
// further decision is a fact that observers see.
func (h *Host) Resume(ctx context.Context, run string, t drive.Changes, shown func(drive.Plan)) (drive.Outcome, error) {
	if err := h.Store.MayDrive(ctx); err != nil {
		return drive.Outcome{}, fmt.Errorf("claim run %s: %w", run, err)
	}
	if err := h.afterReboot(ctx, run); err != nil {
		return drive.Outcome{}, err
	}
	return drive.Claim(ctx, &h.Process, run, t, shown)
}

// afterReboot reads the whole file for damage when the machine was started again since the run was
// last driven: the power may have gone in the middle of a write.
func (h *Host) afterReboot(ctx context.Context, run string) error {
	row, err := h.Store.Run(ctx, run)
	if err != nil || row.Boot == "" || h.Self.Boot == "" || row.Boot == h.Self.Boot {
		return err
	}
	h.Note(run, "the machine was started again since: checking the database")
	return h.Store.QuickCheck(ctx)
}

// Mark is a run that was found without an owner.
type Mark struct {
	Run    string
	Cause  journal.Cause
	Detail string
	Kept   bool // it is in the journal
}

// Reconcile finds runs that say they are going while nobody drives them, and marks them interrupted
// with the cause that can be proved. It takes no lock. With write false it only reports, and so it
// does while other processes keep the database locked: one that is stopped in the middle of a
// commit must not keep anybody from looking, nor from taking its run over.
func (h *Host) Reconcile(ctx context.Context, write bool) ([]Mark, error) {
	if write {
		err := h.expire(ctx)
		if write = !errors.Is(err, db.ErrDiskFull); err != nil && write {
			return nil, err
		}
	}
	rows, err := h.Store.Alive(ctx)
	if err != nil {
		return nil, err
	}
	var marks []Mark
	for _, row := range rows {
		held, err := h.Held(row.ID)
		if err != nil {
			return marks, err
		}
		if held {
			continue
		}
		m, err := h.causeOf(ctx, row)
		if err != nil {
			return marks, err
		}
		if write {
			won, err := h.mark(ctx, row, m)
			switch {
			case errors.Is(err, db.ErrBusy), errors.Is(err, db.ErrDiskFull):
				write = false // what cannot be recorded can be said; who is to write more is refused then
			case err != nil:
				return marks, err
			case !won:
				continue // its owner, or another look, was first
			}
			m.Kept = won
		}
		marks = append(marks, m)
	}
	return marks, nil
}

// expire closes the questions whose time is over, so that their runs can go on.
func (h *Host) expire(ctx context.Context) error {
	open, err := h.Store.Pending(ctx, false)
	if err != nil {
		return err
	}
	for _, p := range open {
		if !p.Expires.IsZero() && !h.Now().Before(p.Expires) {
			_, err := h.Store.Expire(ctx)
			return err
		}
	}
	return nil
}

// mark writes the mark, unless the run went on since it was looked at.
func (h *Host) mark(ctx context.Context, row db.RunRow, m Mark) (bool, error) {
	head, err := h.Store.Head(ctx, row.ID)
	if err != nil || head.Epoch != row.Epoch || head.Seq != row.LastSeq {
		return false, err
	}
	fault.Hit(fault.BeforeMark)
	return h.Store.MarkInterrupted(ctx, head, m.Cause, m.Detail, h.Now())
}

func (h *Host) causeOf(ctx context.Context, row db.RunRow) (Mark, error) {
	m := Mark{Run: row.ID, Cause: journal.CauseCrash, Detail: fmt.Sprintf("process %d died", row.PID)}
	last, failed := h.Locks().Last(row.ID)
	switch {
	case failed != "" && last.PID == row.PID && last.Boot == row.Boot:
		m.Cause, m.Detail = journal.CauseFailing, failed
	case row.Status == recovery.StatusWaiting:
		m.Cause, m.Detail = journal.CauseAnswered, "its question was answered while nobody drove it"
		p, err := h.Store.Answered(ctx, row.ID)
		if err != nil || p == nil {
			return m, err
		}
		switch p.Status {
		case db.RequestExpired:
			m.Cause, m.Detail = journal.CauseExpired, "nobody answered its question in time"
		case db.RequestCancelled:
			m.Cause, m.Detail = journal.CauseWithdrawn, "its question was withdrawn"
		}
	case row.Boot != "" && h.Self.Boot != "" && row.Boot != h.Self.Boot:
		m.Cause, m.Detail = journal.CauseReboot, "the machine was started again"
	}
	return m, nil
}

// Takeover asks the holder of a run to let go, ends it after a while if it does not, and waits for
// the lock.
func (h *Host) Takeover(ctx context.Context, run string, patience time.Duration) error {
	return h.Locks().Takeover(ctx, run, patience, func(warning bool, text string) {
		if warning {
			h.Warn(run, "%s", text)
		} else {
			h.Note(run, "%s", text)
		}
	})
}
