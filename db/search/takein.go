package search

import (
	"context"
	"fmt"

	"agent/db"
	"agent/db/sqlitefile"
)

// step is how many runs are taken into the index in one transaction.
const step = 32

const (
	// Both sides are counted in indexes alone: what is not there costs a search nothing.
	countMissing = `SELECT (SELECT COUNT(*) FROM runs r INDEXED BY runs_roots WHERE r.root_no = 0)
		- (SELECT COUNT(*) FROM runs u INDEXED BY runs_unfinished WHERE u.ended_at IS NULL AND u.root_no = 0)
		- (SELECT COUNT(*) FROM search_docsize)`
	listMissing = `SELECT r.no FROM runs r INDEXED BY runs_roots WHERE r.root_no = 0 AND r.no > ? AND r.ended_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM search_docsize d WHERE d.id = r.no) ORDER BY r.no`
)

// Missing counts the roots that have ended and are not in the index.
func Missing(ctx context.Context, s *db.Store) (missing int, err error) {
	err = reading(ctx, s, func() error {
		found, err := numbers(ctx, s, countMissing)
		if err == nil && len(found) == 1 {
			missing = max(0, int(found[0]))
		}
		return err
	})
	return missing, err
}

// TakeIn takes the words of runs that ended before there was an index into it, a few at a time, and
// calls progress behind each step with how many are in it now.
func TakeIn(ctx context.Context, s *db.Store, progress func(done, all int)) error {
	var list []int64
	err := reading(ctx, s, func() (err error) {
		list, err = numbers(ctx, s, listMissing, 0)
		return err
	})
	for done := 0; err == nil && done < len(list); {
		upto := min(done+step, len(list))
		if err = db.AddWords(ctx, s, list[done:upto]); err == nil {
			done = upto
			progress(done, len(list))
		}
	}
	if err != nil {
		return err
	}
	if len(list) > 0 { // what is damaged takes nothing in, and reports nothing: no run may fail of it
		if missing, err := Missing(ctx, s); err != nil || missing > 0 {
			return fmt.Errorf("take %d runs into the index of words: %w", missing, ErrDamaged)
		}
	}
	return nil
}

func reading(ctx context.Context, s *db.Store, do func() error) error {
	err := s.File().Read(ctx, do)
	if sqlitefile.IsDamaged(err) {
		return fmt.Errorf("look at the index of words: %w", ErrDamaged)
	}
	if err != nil {
		return fmt.Errorf("look at the index of words: %w", s.File().Explain(err))
	}
	return nil
}
