package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"agent/db"
	"agent/db/family"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Mark is a root that was found without an owner, with what is below it.
type Mark struct {
	Run    string
	Cause  journal.Cause
	Detail string
	Below  []string // runs below it that were found without an owner
	Kept   bool     // it is in the journal
}

// Reconcile finds runs that say they are going while nobody drives them, and marks them interrupted
// with the cause that can be proved. It takes no lock. A family is looked at as one: while somebody
// holds the root, nothing of it is marked, and otherwise all of it is, in one mark of the result.
// With write false it only reports, and so it does while other processes keep the database locked:
// one that is stopped in the middle of a commit must not keep anybody from looking, nor from taking
// its run over.
func (h *Host) Reconcile(ctx context.Context, write bool) ([]Mark, error) {
	if write {
		_, err := h.Store.Expire(ctx) // so that their runs can go on
		if write = !errors.Is(err, db.ErrDiskFull); err != nil && write {
			return nil, err
		}
	}
	rows, err := h.Store.Alive(ctx)
	if err != nil {
		return nil, err
	}
	var marks []Mark
	r := reconciling{Host: h, write: write}
	for _, f := range familiesOf(rows) {
		held, err := h.Held(f.id)
		if err != nil {
			return marks, err
		}
		if held {
			continue
		}
		m, found, err := r.family(ctx, f)
		if err != nil {
			return marks, err
		}
		if found {
			marks = append(marks, m)
		}
	}
	return marks, nil
}

// members are the runs of a family that say they are going.
type members struct {
	id    string     // of the root
	root  *db.RunRow // nil where the root does not say so
	below []db.RunRow
}

// familiesOf sorts runs into families, in the order in which they come.
func familiesOf(rows []db.RunRow) []*members {
	var out []*members
	at := map[string]*members{}
	for _, row := range rows {
		id := cmp.Or(row.Root, row.ID)
		f := at[id]
		if f == nil {
			f = &members{id: id}
			at[id], out = f, append(out, f)
		}
		if row.Root == "" {
			f.root = &row
		} else {
			f.below = append(f.below, row)
		}
	}
	return out
}

// reconciling is one look at all families.
type reconciling struct {
	*Host
	write bool // until it was seen that nothing can be recorded
}

// family marks what is lost of a family. It says false where its root is not marked: it waits,
// or was marked before.
func (r *reconciling) family(ctx context.Context, f *members) (m Mark, found bool, err error) {
	if f.root != nil {
		m, found, err = r.ofRoot(ctx, *f.root)
		if err != nil {
			return m, false, err
		}
	}
	if f.root != nil && !found && len(f.below) == 0 {
		return m, false, nil // it is parked
	}
	if found {
		kept, first, err := r.record(ctx, *f.root, m)
		if err != nil || !first {
			return m, false, err // its owner, or another look, was first
		}
		m.Kept = kept
	}
	for _, row := range f.below {
		if parked, err := r.parked(ctx, row); err != nil || parked {
			if err != nil {
				return m, found, err
			}
			continue
		}
		held, err := r.Held(row.ID)
		if err != nil {
			return m, found, err
		}
		if held {
			continue
		}
		own, err := r.causeOf(ctx, row)
		if err != nil {
			return m, found, err
		}
		_, first, err := r.record(ctx, row, own)
		if err != nil {
			return m, found, err
		}
		if first {
			m.Below = append(m.Below, row.ID)
		}
	}
	return m, found, nil
}

// record writes a mark where that can be done. It says false where somebody was first.
func (r *reconciling) record(ctx context.Context, row db.RunRow, m Mark) (kept, first bool, err error) {
	if !r.write {
		return false, true, nil
	}
	won, err := r.mark(ctx, row, m)
	if errors.Is(err, db.ErrBusy) || errors.Is(err, db.ErrDiskFull) {
		r.write = false // what cannot be recorded can be said; who is to write more is refused then
		return false, true, nil
	}
	return won, won, err
}

// ofRoot is the mark of a root that nobody drives; false where it waits for people who were asked
// by runs below it.
func (r *reconciling) ofRoot(ctx context.Context, row db.RunRow) (Mark, bool, error) {
	m, err := r.causeOf(ctx, row)
	if err != nil || row.Status != recovery.StatusWaiting {
		return m, true, err
	}
	own, err := r.Store.Answered(ctx, row.ID)
	if err != nil || own != nil {
		return m, true, err // its own question has its end
	}
	below, err := family.Below(ctx, r.Store, row.ID)
	if err != nil || len(below) == 0 {
		return m, true, err
	}
	waits := false
	for _, c := range below {
		if c.Status.Terminal() {
			continue
		}
		if stays, err := r.stays(ctx, c); err != nil {
			return m, true, err
		} else if stays {
			waits = true
			continue
		}
		own, err := r.causeOf(ctx, c)
		if err != nil {
			return m, true, err
		}
		m.Cause, m.Detail = own.Cause, fmt.Sprintf("run %s below it: %s", c.ID, own.Detail)
		if c.Status == recovery.StatusInterrupted {
			m.Cause, m.Detail = c.Cause, fmt.Sprintf("run %s below it was interrupted: %s", c.ID, c.Detail)
		}
		return m, true, nil
	}
	if !waits {
		m.Detail = "the runs below it have ended"
	}
	return m, !waits, nil
}

// stays says whether a run below a root that nobody drives has nothing to do but to wait.
func (r *reconciling) stays(ctx context.Context, row db.RunRow) (bool, error) {
	if row.Status == recovery.StatusWaiting && row.Pending != nil {
		return true, nil
	}
	return r.parked(ctx, row)
}

// parked says whether a run below a root waits for runs below itself, which are looked at as well.
func (r *reconciling) parked(ctx context.Context, row db.RunRow) (bool, error) {
	if row.Status != recovery.StatusWaiting || row.Pending != nil {
		return false, nil
	}
	answered, err := r.Store.Answered(ctx, row.ID)
	if err != nil || answered != nil {
		return false, err
	}
	children, err := family.Children(ctx, r.Store, row.ID)
	for _, c := range children {
		if !c.Status.Terminal() {
			return true, err
		}
	}
	return false, err
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
