package sqlitefile

import (
	"context"
	"errors"
	"fmt"
)

// QuickCheck reads the whole file for damage (PRAGMA quick_check: about 0.7 seconds for a
// gigabyte). *CorruptError names the first thing that is wrong.
func (f *File) QuickCheck(ctx context.Context) error {
	conn, err := f.Conn(ctx)
	if err != nil {
		return fmt.Errorf("check %s: %w", f.path, f.Explain(err))
	}
	rows, err := Lines(ctx, conn, "PRAGMA quick_check(1)")
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("check %s: %w", f.path, f.Explain(err))
	}
	for _, row := range rows {
		if row != "ok" {
			return &CorruptError{Path: f.path, What: row}
		}
	}
	return nil
}
