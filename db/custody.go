package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"agent/db/dbsqlc"
)

// The words of custody.
const (
	Copy  = "copy"
	Moved = "moved"
)

// Custody says whether a thread is not only here, and since when.
type Custody struct {
	Word    string // Copy, Moved, or "" for a thread that is only here
	Store   string
	Rekeyed bool
	At      time.Time
}

// CustodyOf reads it.
func CustodyOf(ctx context.Context, s *Store, thread string) (c Custody, err error) {
	err = s.read(ctx, "read whose thread "+thread+" is", func(q *dbsqlc.Queries) error {
		row, err := q.GetCustody(ctx, thread)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		c = Custody{row.Word, row.Store, row.Rekeyed != 0, time.UnixMicro(row.At)}
		return err
	})
	return c, err
}

// SetCustody notes it.
func SetCustody(ctx context.Context, s *Store, thread string, c Custody) error {
	return s.write(ctx, func(t *tx) error {
		q := t.q
		if c.Word == "" {
			return q.DropCustody(ctx, thread)
		}
		rekeyed := int64(0)
		if c.Rekeyed {
			rekeyed = 1
		}
		return q.SetCustody(ctx, dbsqlc.SetCustodyParams{Thread: thread, Word: c.Word, Store: c.Store, Rekeyed: rekeyed, At: c.At.UnixMicro()})
	})
}
