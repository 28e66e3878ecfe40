package db

import (
	"context"
	"fmt"
	"time"

	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

// EndUnread cancels a run whose journal does not match its digests. What the journal says cannot be
// folded, so the rows are believed: a call that they know as started is settled as unknown, the
// open questions are withdrawn, and the end follows the last fact. The caller holds the run's lock
// and has ended the run's commands. The damage stays, for doctor to tell.
func (s *Store) EndUnread(ctx context.Context, h Head, by, reason string, now time.Time) (Head, error) {
	started, err := sqlitefile.Records(ctx, s.file.Readers(), "SELECT turn, idx, attempt FROM tool_executions WHERE run_no = ? AND phase = 'started' ORDER BY turn, idx", h.No)
	if err != nil {
		return h, fmt.Errorf("cancel run %s: read its started calls: %w", h.Run, err)
	}
	var events []journal.Event
	add := func(turn int, b journal.Body) {
		events = append(events, journal.Event{Turn: turn, Time: now, Body: b})
	}
	for _, c := range started {
		turn, _ := c["turn"].(int64)
		index, _ := c["idx"].(int64)
		attempt, _ := c["attempt"].(int64)
		add(int(turn), journal.CallSettled{
			Place:  journal.Place{Turn: int(turn), Index: int(index), Attempt: int(attempt)},
			Result: journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold, Content: "what became of it is not known: " + reason},
		})
	}
	add(h.Turns, journal.RunCancelled{By: by, Reason: "cancelled by " + by + ": " + reason})
	if h, err = s.Append(ctx, h, events, AppendOptions{Status: recovery.StatusCancelled}); err != nil {
		return h, fmt.Errorf("cancel run %s: %w", h.Run, err)
	}
	return h, nil
}
