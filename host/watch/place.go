package watch

import (
	"context"

	"agent/db"
)

// Facts reads a page of a run's facts after a cursor, and moves the cursor behind them: at most so
// many, and none more once they have 256 KiB. At the end of the journal there are none.
func Facts(ctx context.Context, s *db.Store, run string, c *Cursor, most int) ([]Line, error) {
	if err := c.Check(ctx, s, run); err != nil {
		return nil, err
	}
	rows, err := db.Page(ctx, s, run, c.seq, most, mostBytes)
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(rows))
	for i, row := range rows {
		if lines[i], err = factLine(run, row); err != nil {
			return nil, err
		}
	}
	c.move(lines)
	return lines, nil
}
