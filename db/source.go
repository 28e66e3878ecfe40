package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"agent/db/dbsqlc"
)

// journalRows is Facts of the generated queries, for read.
const journalRows = "SELECT id, turn, kind, v, time, body, body_hash, digest FROM journal WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"

// source reads a journal through a connection on which its query stays prepared: preparing it takes as long as reading fifty rows.
// The connection is held while there is something to read and no longer, so that readers which wait for each other cannot take all.
type source struct {
	readers *sql.DB
	conn    *sql.Conn
	query   driver.StmtQueryContext // on conn
	close   func() error            // of query
}

// rows calls with each row, as the generated query gives it, from the driver itself: that takes two thirds of the time and leaves
// less behind for the collector.
func (s *source) rows(ctx context.Context, after, upto, most int64, with func([]driver.Value)) (err error) {
	if s.conn == nil {
		if s.conn, err = s.readers.Conn(ctx); err != nil {
			return err
		}
	}
	return s.conn.Raw(func(c any) (err error) {
		if s.query == nil {
			st, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, journalRows)
			if err != nil {
				return err
			}
			s.query, s.close = st.(driver.StmtQueryContext), st.Close
		}
		rows, err := s.query.QueryContext(ctx, []driver.NamedValue{{Ordinal: 1, Value: after}, {Ordinal: 2, Value: upto}, {Ordinal: 3, Value: most}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		v := make([]driver.Value, 8)
		for {
			if err := rows.Next(v); err != nil {
				if err == io.EOF {
					return nil
				}
				return err
			}
			with(v)
		}
	})
}

// next takes a part to read into; nil once nobody wants any more.
func (s *source) next(ctx context.Context, free <-chan *part) *part {
	select {
	case p := <-free:
		return p
	default:
		s.release()
	}
	select {
	case p := <-free:
		return p
	case <-ctx.Done():
		return nil
	}
}

// release gives the connection back. What was read is read: that this fails changes nothing of it.
func (s *source) release() {
	if s.conn == nil {
		return
	}
	if s.close != nil {
		_ = s.conn.Raw(func(any) error { return s.close() }) // finalizing repeats the error of the last step
	}
	_ = s.conn.Close() // back into the pool
	s.conn, s.query, s.close = nil, nil, nil
}

// row is a row of a journal.
type row struct {
	dbsqlc.Journal
	foreign bool // a value is of another type than its column's
}

// part is a stretch of a journal, read in one go and decoded beside the reader. It is used again for a later stretch.
type part struct {
	rows    []row
	bodies  []string // of rows
	facts   []decoded
	room    []byte // of the decoder
	err     error  // instead of facts
	decoded chan struct{}
}

// read reads the next rows.
func (p *part) read(ctx context.Context, from *source, after, upto, most int64) error {
	p.rows, p.bodies = p.rows[:0], p.bodies[:0]
	return from.rows(ctx, after, upto, most, p.add)
}

// add takes the values of one row. A value of another type than its column's comes from a damaged file.
func (p *part) add(v []driver.Value) {
	var r row
	for i, n := range [...]*int64{&r.ID, &r.Turn, &r.Kind, &r.V, &r.Time} {
		is := false
		*n, is = v[i].(int64)
		r.foreign = r.foreign || !is
	}
	text, body := v[5].(string)
	if body {
		p.bodies = append(p.bodies, text)
		r.Body = &p.bodies[len(p.bodies)-1]
	}
	var hash, digest bool
	r.BodyHash, hash = v[6].([]byte)
	r.Digest, digest = v[7].([]byte)
	r.foreign = r.foreign || !body && v[5] != nil || !hash && v[6] != nil || !digest
	p.rows = append(p.rows, r)
}
