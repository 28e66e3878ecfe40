package host

import (
	"context"
	"errors"
	"slices"

	"agent/db"
	"agent/db/maintain"
	"agent/host/owner"
)

// Repair makes the rows of runs what their journals prove, but for runs that a process drives.
func (h *Host) Repair(ctx context.Context, list []maintain.Difference) ([]maintain.Difference, error) {
	var nos []int64
	for _, d := range list {
		if slices.Contains(nos, d.No) {
			continue
		}
		lock, err := h.Locks().Take(d.Run)
		if errors.As(err, new(*owner.HeldError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Close() }() // dropping a lock cannot be undone or repeated
		nos = append(nos, d.No)
	}
	return maintain.Repair(ctx, h.Store, nos)
}

// repairRun makes the rows of one run what its journal proves, before something is done that must
// always be possible: a lost row could keep it from being recorded. A run that a process drives is
// left to it, and so is one whose journal is damaged.
func (h *Host) repairRun(ctx context.Context, run string) error {
	row, err := h.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	_, err = h.Repair(ctx, []maintain.Difference{{No: row.No, Run: run}})
	if errors.As(err, new(*db.CorruptError)) {
		return nil // reported by what follows
	}
	return err
}
