package prune

import (
	"context"
	"fmt"

	"agent/db/sqlitefile"
)

const (
	// deletedShare is how many percent of a part of the search index may be deleted before a write
	// makes the part anew: FTS5's own setting.
	deletedShare = 10

	mergePages = 16 // of the index, in one transaction
)

// mergeDeleted sets from which share of deleted rows on a write makes a part of the search index
// anew, percent; 0 for never. That work is done inside of a commit, whatever else waits for it, so
// a removal does it itself, in steps. Whoever is killed in between leaves 0, which costs space
// until the next removal.
func (r *remover) mergeDeleted(ctx context.Context, share int) error {
	err := r.s.File().Write(ctx, func(t *sqlitefile.Tx) error {
		_, err := t.ExecContext(ctx, "INSERT INTO search (search, rank) VALUES ('deletemerge', ?)", share)
		return err
	})
	if err != nil {
		return fmt.Errorf("prune the search index: %w", err)
	}
	return nil
}

// index gives back what the words of removed runs took of the search index.
func (r *remover) index(ctx context.Context) error {
	for pages := -mergePages; !r.enough(); pages = mergePages { // the first step begins a merge, the others go on with it
		var changed int64
		err := r.s.File().Write(ctx, func(t *sqlitefile.Tx) (err error) {
			changed, err = merge(ctx, t, pages)
			return err
		})
		if err != nil {
			return fmt.Errorf("prune the search index: %w", err)
		}
		if changed < 2 { // FTS5 says so where there is nothing left to merge
			break
		}
		r.rest(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return r.mergeDeleted(ctx, deletedShare)
}

// merge does one step, and counts the rows that it changed.
func merge(ctx context.Context, t *sqlitefile.Tx, pages int) (changed int64, err error) {
	count := func() (n int64, err error) {
		rows, err := sqlitefile.Records(ctx, t, "SELECT total_changes() AS n")
		if err != nil {
			return 0, err
		}
		return rows[0]["n"].(int64), nil
	}
	before, err := count()
	if err != nil {
		return 0, err
	}
	if _, err := t.ExecContext(ctx, "INSERT INTO search (search, rank) VALUES ('merge', ?)", pages); err != nil {
		return 0, err
	}
	after, err := count()
	return after - before, err
}
