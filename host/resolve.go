package host

import (
	"context"
	"slices"

	"agent/db"
	"agent/host/drive"
	"agent/recovery/journal"
)

// Resolve records a person's decision about a call whose outcome is unknown, as RecordResolution
// does. Where the twin guard asks about that call at the moment, happened answers its question too:
// the question is closed, by the owner of the run that asks or here, and the run goes on. A nil
// on leaves it as it is then. The request of the result is empty where nothing was asked.
func (h *Host) Resolve(ctx context.Context, c db.CallRow, w journal.Word, on GoOn) (Taken, error) {
	var asked []db.PendingRow
	if w == journal.WordHappened {
		open, err := h.Store.Pending(ctx, false)
		if err != nil {
			return Taken{}, err
		}
		asked = slices.DeleteFunc(open, func(p db.PendingRow) bool {
			return p.Kind != journal.RequestTwin || p.Request.About != c.ID
		})
	}
	if err := h.RecordResolution(ctx, c, w); err != nil || len(asked) == 0 {
		return Taken{}, err
	}
	row := asked[0] // a thread has one run that is not over, and that one question at most
	if row.Run != c.Run {
		word := journal.CallResolved{Place: journal.Place{Turn: c.Turn, Index: c.Index}, Run: c.Run, Word: w, By: h.By(ctx)}
		if _, err := drive.PutResolution(ctx, &h.Process, row.Run, word); err != nil {
			return Taken{}, err
		}
		if err := notHeld(drive.TakeResolutions(ctx, &h.Process, row.Run, 0)); err != nil {
			return Taken{}, err
		}
	}
	if on == nil {
		return Taken{Request: row}, nil
	}
	return h.deliver(ctx, row, on)
}
