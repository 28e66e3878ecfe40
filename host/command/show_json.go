package command

import (
	"context"
	"fmt"
	"strings"

	"agent/host/app"
	"agent/host/view"
	"agent/recovery/fault"
)

func (s showing) json(ctx context.Context, run string) error {
	v := view.Record{Version: 1, Calls: []view.Call{}, Facts: []view.Fact{}}
	var err error
	if v.Run, err = s.Now(ctx, run); err != nil {
		return err
	}
	rows, err := s.Store.Calls(ctx, run)
	if err != nil {
		return err
	}
	found, err := view.Decisions(run, s.Store.Load(ctx, run, 0))
	if err != nil {
		return err
	}
	for _, row := range rows {
		v.Calls = append(v.Calls, view.NewCall(row, found[row.Place.String()]))
	}
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return err
		}
		v.Add(e.Body)
		v.Facts = append(v.Facts, view.Fact{Seq: e.Seq, Turn: e.Turn, Time: e.Time, Kind: e.Body.Kind(), Body: e.Body})
	}
	if b, ok := v.Created(); ok {
		v.By = b.By
		if used, ok := s.used(ctx, b); ok {
			u := used.View()
			v.Usage, v.CostUSD = &u, used.Dollars()
		}
	}
	kept, err := s.Store.Answered(ctx, run)
	if err != nil {
		return err
	}
	if kept != nil {
		r := view.NewRequest(*kept, fault.Now())
		v.Kept = &r
	}
	s.app.PrintJSON(v)
	return nil
}

// callJSON prints one call with its whole output. Bytes that are not UTF-8 become U+FFFD.
func (s showing) callJSON(ctx context.Context, row app.CallRow, d *view.Decided) error {
	v := struct {
		Version int       `json:"version"`
		Call    view.Call `json:"call"`
	}{1, view.NewCall(row, d)}
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
