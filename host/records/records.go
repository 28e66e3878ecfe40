// Package records reads what the store keeps for who shows journals, and for the tool that reads
// outputs.
package records

import (
	"context"
	"io"
	"strings"

	"agent/db"
)

// Records are journals as they are shown.
type Records struct{ *db.Store }

// Before is the number of the last fact before a turn.
func (r Records) Before(ctx context.Context, run string, turn int) (int64, error) {
	rows, err := r.Checkpoints(ctx, run)
	before := int64(0)
	for _, row := range rows {
		if row.Turn < turn {
			before = row.Seq
		}
	}
	return before, err
}

// Outputs lets read_output read what the store keeps.
type Outputs struct{ *db.Store }

// Output is the whole output of a call by the call's id, or what was piped into a run by the run's
// id.
func (o Outputs) Output(ctx context.Context, _, callID string) (io.ReaderAt, int64, error) {
	if strings.HasPrefix(callID, "r-") {
		return o.Store.TrueInput(ctx, callID)
	}
	return o.Store.TrueOutput(ctx, callID)
}
