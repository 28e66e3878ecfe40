package db

import (
	"context"
	"math"

	"agent/db/dbsqlc"
)

// PageFilter says which runs a page lists. The zero value of a field lets all pass.
type PageFilter struct {
	Before int64  // number of a run: only older ones
	Status string // of the runs
	Folder string // in which they work
	Text   string // that the beginning of the prompt has, in upper or lower case
	Limit  int
}

// RunsPage lists at most Limit runs, the newest first. To go on, Before is the number of the last
// one: runs that begin meanwhile move nothing.
func RunsPage(ctx context.Context, s *Store, f PageFilter) ([]RunRow, error) {
	if f.Before == 0 {
		f.Before = math.MaxInt64
	}
	if f.Folder != "" {
		f.Folder = s.Redact(f.Folder) // as it is stored
	}
	var out []RunRow
	err := s.read(ctx, "list runs", func(q *dbsqlc.Queries) error {
		rows, err := q.RunsPage(ctx, dbsqlc.RunsPageParams{
			Before: f.Before, Status: f.Status, Folder: f.Folder, Text: f.Text, MaxRows: int64(f.Limit),
		})
		if err != nil {
			return err
		}
		out, err = s.runRows(ctx, q, rows)
		return err
	})
	return out, err
}
