package host

import (
	"context"
	"fmt"
	"time"

	"agent/host/drive"
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
	run, err := toDrive(ctx, h, run, t)
	if err != nil {
		return drive.Outcome{}, err
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

// Takeover asks the holder of a run to let go, ends it after a while if it does not, and waits for
// the lock. The holder is left alone where the run could not be resumed as is asked for.
func (h *Host) Takeover(ctx context.Context, run string, t drive.Changes, patience time.Duration) error {
	root, err := mayChange(ctx, h, run, t)
	if err == nil {
		err = h.MayChange(ctx, root, t)
	}
	if err != nil {
		return err
	}
	return h.Locks().Takeover(ctx, root, patience, func(warning bool, text string) {
		if warning {
			h.Warn(run, "%s", text)
		} else {
			h.Note(run, "%s", text)
		}
	})
}

// StopRunning ends the commands of a run that go on though nobody drives it. A resume tells its
// model what came of that.
func StopRunning(ctx context.Context, h *Host, run string) error {
	if err := drive.StopRunning(ctx, &h.Process, run, h.By(ctx)); err != nil {
		return fmt.Errorf("stop the commands of run %s: %w", run, err)
	}
	return nil
}
