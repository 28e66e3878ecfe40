package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"agent/db"
	"agent/host/drive"
	"agent/recovery"
	"agent/tools/ofd"
	"agent/tools/runner"
)

// cancelUnread ends a run whose own journal is damaged: nothing of it can be folded, and nothing of
// it is started any more. Its commands are found by their folders, and the runs below it by their
// rows.
func (h *Host) cancelUnread(ctx context.Context, run string, bad *db.CorruptError) (drive.Outcome, error) {
	reason := fmt.Sprintf("fact %d: %s", bad.Seq, bad.What)
	err := drive.Holding(&h.Process, run, func(*ofd.File) error {
		if err := errors.Join(cancelBelow(ctx, h, run), h.endCommands(ctx, run)); err != nil {
			return err
		}
		head, err := h.Store.Head(ctx, run)
		if err == nil && !head.Status.Terminal() {
			_, err = h.Store.EndUnread(ctx, head, h.Who, reason, h.Now())
		}
		return err
	})
	if err != nil {
		return drive.Outcome{}, err
	}
	row, err := h.Store.Run(ctx, run)
	if err != nil {
		return drive.Outcome{}, err
	}
	out := unreadOutcome(row)
	if row.Status == recovery.StatusCancelled {
		out.Detail = "cancelled by " + h.Who + ", " + reason
	}
	return out, nil
}

// unreadOutcome is what the row of a run says whose journal cannot be folded.
func unreadOutcome(row db.RunRow) drive.Outcome {
	out := drive.Outcome{Run: row.ID, Thread: row.Thread, Status: row.Status, Turns: row.Turns, Unread: true}
	if row.Status == recovery.StatusCancelled {
		out.Detail = "cancelled"
	}
	for _, c := range row.Undecided {
		out.Undecided = append(out.Undecided, drive.NamedCall{ID: c.ID, Tool: c.Tool, Started: c.Started})
	}
	return out
}

// endCommands stops what still runs of a run, and waits for its end.
func (h *Host) endCommands(ctx context.Context, run string) error {
	dir := filepath.Join(h.CallsDir(), run)
	calls, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var running []string
	for _, c := range calls {
		folder := filepath.Join(dir, c.Name())
		held, look := runner.Held(folder)
		if look != nil || !held {
			continue // no folder of a call, or of one that is over
		}
		running = append(running, folder)
		err = errors.Join(err, runner.Cancel(folder, "cancelled by "+h.Who))
	}
	for _, folder := range running {
		h.Warn(run, "command of %s: waiting for its end", filepath.Base(folder))
		_, gone := runner.Follow(ctx, folder, math.MaxInt64, func([]byte) {})
		if err = errors.Join(err, gone); ctx.Err() != nil {
			return fmt.Errorf("cancel run %s: it is asked for and kept; its command has not ended yet: %w", run, context.Cause(ctx))
		}
	}
	return err
}
