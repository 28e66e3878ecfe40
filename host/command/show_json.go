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
