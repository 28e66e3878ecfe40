package db

import (
	"context"
	"errors"
	"fmt"
)

// QuickCheck reads the whole file for damage (PRAGMA quick_check: about 0.7 seconds for a gigabyte). *CorruptError names
// the first thing that is wrong.
func (s *Store) QuickCheck(ctx context.Context) error {
	conn, err := s.dial(ctx, s.readers)
	if err != nil {
		return fmt.Errorf("check %s: %w", s.path, s.explain(err))
	}
	rows, err := lines(ctx, conn, "PRAGMA quick_check(1)")
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("check %s: %w", s.path, s.explain(err))
	}
	for _, row := range rows {
		if row != "ok" {
			return &CorruptError{Path: s.path, What: row}
		}
	}
	return nil
}
