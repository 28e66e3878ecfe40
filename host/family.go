package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/db/family"
	"agent/host/drive"
	"agent/host/owner"
)

// A family is a run that a person started, its root, and all runs below it. Only the process that
// holds the root's lock drives the others, so what a person wants of one of them is written for
// that one, and then the root is driven.

// rootOf is the run at the top of a run's family.
func rootOf(ctx context.Context, h *Host, run string) (string, error) {
	row, err := h.Store.Run(ctx, run)
	if err != nil {
		return "", err
	}
	return cmp.Or(row.Root, run), nil
}

// toDrive is the run that is driven where this one is to go on.
func toDrive(ctx context.Context, h *Host, run string, t drive.Changes) (string, error) {
	root, err := mayChange(ctx, h, run, t)
	if err == nil && root != run {
		h.Note(run, "run %s carries out a task of run %s, which goes on with it", run, root)
	}
	return root, err
}

// mayChange is the root of a run that is resumed. What a resume changes is said of the root, whose
// mode and limits hold for all.
func mayChange(ctx context.Context, h *Host, run string, t drive.Changes) (string, error) {
	root, err := rootOf(ctx, h, run)
	if err == nil && root != run && t != (drive.Changes{}) {
		return "", &drive.RefusedChangeError{Run: run, Why: fmt.Sprintf("it carries out a task of run %s; what is changed is changed there: agent resume %s", root, root)}
	}
	return root, err
}

// DryRun makes the plan of a resume and changes nothing.
func (h *Host) DryRun(ctx context.Context, run string, t drive.Changes) (drive.Plan, error) {
	root, err := toDrive(ctx, h, run, t)
	if err != nil {
		return drive.Plan{}, err
	}
	return h.Process.DryRun(ctx, root, t)
}

// cancelChild sees to the end of a run below another, which was asked for: the owner of its root
// ends it, or this process, which then carries the root on. Where the root has ended without it,
// nobody drives the family any more, and this process ends it alone.
func cancelChild(ctx context.Context, h *Host, row db.RunRow) (drive.Outcome, error) {
	w, err := h.Subscribe()
	if err != nil {
		return drive.Outcome{}, err
	}
	defer w.Close()
	damaged, err := stopDamaged(ctx, h, row.ID)
	if err != nil {
		return drive.Outcome{}, err
	}
	for {
		root, err := h.Store.Run(ctx, row.Root)
		if err != nil {
			return drive.Outcome{}, err
		}
		if root.Status.Terminal() {
			return h.end(ctx, row.ID)
		}
		out, err := h.Resume(ctx, row.Root, drive.Changes{}, nil)
		if now, look := h.Store.Run(ctx, row.ID); look == nil && now.Status.Terminal() {
			return ended(ctx, h, now)
		}
		held := new(owner.HeldError)
		switch {
		case errors.As(err, new(*drive.FinishedError)), err == nil && out.Status.Terminal():
			continue // it ended without the child
		case damaged:
			return out, fmt.Errorf("cancel run %s: its journal is damaged; nothing of it runs any more, and it can be ended once run %s, for which it worked, has ended: "+
				"agent resume %s, or: agent cancel %s", row.ID, row.Root, row.Root, row.Root)
		case !errors.As(err, &held):
			return out, err // the root stopped before that, and says why
		}
		select {
		case <-w.C():
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return drive.Outcome{}, fmt.Errorf("cancel run %s: %w; %s has not ended it yet", row.ID, ErrCancelKept, held.Holder)
		}
	}
}

// stopDamaged ends the commands of a run whose journal is damaged, which nobody can drive to its
// end. Its record is left as it is: what it began would be in doubt then and cannot be read, and no
// run of its family could be claimed.
func stopDamaged(ctx context.Context, h *Host, run string) (damaged bool, err error) {
	bad := new(db.CorruptError)
	if _, err := h.State(ctx, run); !errors.As(err, &bad) || bad.Run != run {
		return false, nil
	}
	return true, h.endCommands(ctx, run)
}

// cancelBelow ends what a run has made whose own journal cannot be folded. The caller holds its
// lock.
func cancelBelow(ctx context.Context, h *Host, run string) error {
	below, err := family.Children(ctx, h.Store, run)
	if err != nil {
		return err
	}
	for _, row := range below {
		if row.Status.Terminal() {
			continue
		}
		if _, err := h.end(ctx, row.ID); err != nil {
			return err
		}
	}
	return nil
}
