package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"agent/db/dbsqlc"
)

// neverPruned is *PrunedError where a run that was removed had the start key.
func neverPruned(ctx context.Context, q *dbsqlc.Queries, key string) error {
	t, err := q.TombstoneByStartKey(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &PrunedError{Run: t.Run, Key: key, At: timeOf(t.PrunedAt)}
}

// Pruned says when a run was removed; zero for one that never was.
func Pruned(ctx context.Context, s *Store, run string) (at time.Time, err error) {
	err = s.read(ctx, "look for run "+run+" among those that were pruned", func(q *dbsqlc.Queries) error {
		at, err = pruned(ctx, q, run)
		return err
	})
	return at, err
}

func pruned(ctx context.Context, q *dbsqlc.Queries, run string) (time.Time, error) {
	t, err := q.GetTombstone(ctx, run)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return timeOf(t.PrunedAt), err
}
