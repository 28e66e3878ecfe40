package command

import (
	"context"

	"agent/host/view"
)

// calls prints one block for each call of a run.
func (s showing) calls(ctx context.Context, run string) error {
	rows, err := s.Store.Calls(ctx, run)
	if err != nil {
		return err
	}
	found, err := view.Decisions(run, s.Store.Load(ctx, run, 0))
	if err != nil {
		return err
	}
	t := s.printer()
	if len(rows) == 0 {
		s.app.Say(s.app.Err, "run %s has no call", run)
	}
	for i, row := range rows {
		if i > 0 {
			t.Blank()
		}
		detail := view.NewCallDetail(row, found[row.Place.String()])
		t.CallHead(detail)
		if detail.Settled {
			t.CallResult(detail)
		}
	}
	return nil
}
