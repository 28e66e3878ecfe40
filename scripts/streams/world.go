//go:build linux

package main

import (
	"context"
	"encoding/json"

	"agent/scripts/streams/stage"
)

// world is where a proof takes place.
type world struct {
	*stage.Stage
	options
}

// facts are the lines of a run's facts, as pages give them, by their numbers.
func (w *world) facts(ctx context.Context, run string) ([]string, error) {
	var list []string
	for after := ""; ; {
		var page struct {
			Facts  []json.RawMessage `json:"facts"`
			Cursor string            `json:"cursor"`
		}
		if err := w.Get(ctx, "/v1/runs/"+run+"/facts?limit=500&after="+after, &page); err != nil {
			return nil, err
		}
		if len(page.Facts) == 0 {
			return list, nil
		}
		for _, f := range page.Facts {
			list = append(list, string(f))
		}
		after = page.Cursor
	}
}
