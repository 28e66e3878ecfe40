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
	"agent/tools/ofd"
	"agent/tools/runner"
)

// cancelUnread ends a run whose journal is damaged: nothing of it can be folded, and nothing of it is started any more. Its commands
// are found by their folders.
func (h *Host) cancelUnread(ctx context.Context, run string, bad *db.CorruptError) (Outcome, error) {
	out := Outcome{Run: run}
	err := h.holding(run, func(*ofd.File) error {
		if err := h.endCommands(ctx, run); err != nil {
			return err
		}
		head, err := h.Store.Head(ctx, run)
		if err == nil && !head.Status.Terminal() {
			head, err = h.Store.EndUnread(ctx, head, h.Who, bad.What, h.Now())
		}
		out.Thread, out.Status, out.Turns = head.Thread, head.Status, head.Turns
		return err
	})
	if err != nil {
		return Outcome{}, errors.Join(bad, err)
	}
	out.Detail = h.Store.Clean(fmt.Sprintf("cancelled by %s: %s", h.Who, bad.What))
	return out, nil
}

// endCommands stops what still runs of a run, and waits for its end.
func (h *Host) endCommands(ctx context.Context, run string) error {
	dir := filepath.Join(h.CallsDir(), run)
	calls, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, c := range calls {
		folder := filepath.Join(dir, c.Name())
		err = errors.Join(err, runner.Cancel(folder, "cancelled by "+h.Who))
		_, gone := runner.Follow(ctx, folder, math.MaxInt64, func([]byte) {})
		err = errors.Join(err, gone)
	}
	return err
}
