package command

import (
	"context"
	"fmt"
	"strings"

	"agent/host/app"
	"agent/host/view"
)

func (s showing) json(ctx context.Context, run string) error {
	v, err := s.Record(ctx, run)
	if err == nil {
		s.app.PrintJSON(v)
	}
	return err
}

// callJSON prints one call with its whole output. Bytes that are not UTF-8 become U+FFFD.
func (s showing) callJSON(ctx context.Context, row app.CallRow, d *view.Decided) error {
	v := view.OneCall{Version: 1, Call: view.NewCall(row, d)}
	if row.Result != nil {
		r, size, err := s.Store.Output(ctx, row.ID)
		if err != nil {
			return err
		}
		b := make([]byte, size)
		if n, err := r.ReadAt(b, 0); int64(n) < size {
			return fmt.Errorf("read the output of call %s: %v", row.ID, err)
		}
		text := strings.ToValidUTF8(string(b), "\uFFFD")
		v.Call.Output = &text
	}
	s.app.PrintJSON(v)
	return nil
}

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
