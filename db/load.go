package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"agent/db/dbsqlc"
	"agent/recovery"
)

// chunk is how many facts are read at once: a reader never holds the log back for longer than that takes.
const chunk = 1024

// Load reads a run's facts after the one numbered from, in order; 0 reads all. Every row is compared with its digest and
// every body with its hash; the first thing that does not match ends the reading with *CorruptError.
func (s *Store) Load(ctx context.Context, run string, from int64) iter.Seq2[recovery.Event, error] {
	return func(yield func(recovery.Event, error) bool) {
		h, err := s.Head(ctx, run)
		if err != nil {
			yield(recovery.Event{}, err)
			return
		}
		c := &cursor{s: s, head: h, seq: from}
		if err := c.start(ctx); err != nil {
			yield(recovery.Event{}, err)
			return
		}
		for c.seq < h.Seq {
			rows, err := c.rows(ctx)
			if err != nil {
				yield(recovery.Event{}, err)
				return
			}
			for i := range rows {
				e, err := c.next(&rows[i])
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// cursor walks through a run's rows and checks that they follow each other.
type cursor struct {
	s      *Store
	head   Head
	seq    int64 // of the last fact that was read
	digest []byte
}

// start finds the digest that the first row is chained to.
func (c *cursor) start(ctx context.Context) error {
	if c.seq <= 0 {
		c.seq = 0
		return nil
	}
	return c.s.read(ctx, "read run "+c.head.Run, func(q *dbsqlc.Queries) error {
		var err error
		c.digest, err = q.GetDigest(ctx, packID(c.head.No, c.seq))
		if errors.Is(err, sql.ErrNoRows) {
			return c.s.corrupt(c.head.Run, c.seq, "it is missing", nil)
		}
		return err
	})
}

func (c *cursor) rows(ctx context.Context) ([]dbsqlc.FactsRow, error) {
	var rows []dbsqlc.FactsRow
	err := c.s.read(ctx, "read run "+c.head.Run, func(q *dbsqlc.Queries) error {
		var err error
		rows, err = q.Facts(ctx, packID(c.head.No, c.seq), packID(c.head.No, c.head.Seq), chunk)
		return err
	})
	if err == nil && len(rows) == 0 {
		err = c.s.corrupt(c.head.Run, c.seq+1, fmt.Sprintf("it is missing: the run has %d facts", c.head.Seq), nil)
	}
	return rows, err
}

// next checks one row and decodes it.
func (c *cursor) next(r *dbsqlc.FactsRow) (recovery.Event, error) {
	e := recovery.Event{Seq: r.ID & maxSeq, Turn: int(r.Turn), Time: timeOf(r.Time)}
	if e.Seq != c.seq+1 {
		return e, c.s.corrupt(c.head.Run, c.seq+1, fmt.Sprintf("it is missing: fact %d follows", e.Seq), nil)
	}
	body, hash, err := c.s.body(r)
	if err != nil {
		return e, c.s.corrupt(c.head.Run, e.Seq, err.Error(), nil)
	}
	want := digest(c.digest, r.ID, r.Kind, r.V, r.Turn, r.Time, hash)
	if !bytes.Equal(want, r.Digest) {
		return e, c.s.corrupt(c.head.Run, e.Seq, "it does not match its digest", nil)
	}
	kind, err := kindOf(r.Kind)
	if err != nil {
		return e, fmt.Errorf("read run %s, fact %d: %w", c.head.Run, e.Seq, err)
	}
	if e.Body, err = recovery.Decode(kind, int(r.V), body); err != nil {
		return e, fmt.Errorf("read run %s, fact %d: %w", c.head.Run, e.Seq, err)
	}
	c.seq, c.digest = e.Seq, want
	return e, nil
}

// body is a row's body, wherever it lies, and its hash.
func (s *Store) body(r *dbsqlc.FactsRow) (body, hash []byte, err error) {
	if r.BodyHash == nil {
		sum := sha256.Sum256(r.Body)
		return r.Body, sum[:], nil
	}
	if r.Encoding == nil {
		return nil, nil, fmt.Errorf("its body %x is missing", r.BodyHash[:min(6, len(r.BodyHash))])
	}
	body, err = s.open(r.BodyHash, deref(r.Size), *r.Encoding, r.Data)
	return body, r.BodyHash, err
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// bodyAt decodes one fact by its key. It is compared with its own hash and digest only where it is read with its run.
func (s *Store) bodyAt(ctx context.Context, q *dbsqlc.Queries, run string, no, seq int64) (recovery.Body, error) {
	r, err := q.GetFact(ctx, packID(no, seq))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.corrupt(run, seq, "it is missing", nil)
	}
	if err != nil {
		return nil, err
	}
	f := dbsqlc.FactsRow(r)
	data, _, err := s.body(&f)
	if err != nil {
		return nil, s.corrupt(run, seq, err.Error(), nil)
	}
	kind, err := kindOf(r.Kind)
	if err != nil {
		return nil, fmt.Errorf("run %s, fact %d: %w", run, seq, err)
	}
	b, err := recovery.Decode(kind, int(r.V), data)
	if err != nil {
		return nil, s.corrupt(run, seq, err.Error(), nil)
	}
	return b, nil
}

func (s *Store) corrupt(run string, seq int64, what string, err error) error {
	return &CorruptError{Path: s.path, Run: run, Seq: seq, What: what, Err: err}
}

// Head is where a run's journal ends now. A run that does not exist gives *UnknownIDError.
func (s *Store) Head(ctx context.Context, run string) (Head, error) {
	var h Head
	err := s.read(ctx, "read run "+run, func(q *dbsqlc.Queries) error {
		r, err := q.GetHead(ctx, run)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownIDError{Kind: 'r', Text: run}
		}
		if err != nil {
			return err
		}
		if len(r.Digest) != sha256.Size {
			return s.corrupt(run, r.LastSeq, "it is missing", nil)
		}
		h = Head{No: r.No, Run: r.ID, Thread: r.Thread, Epoch: r.Epoch, Seq: r.LastSeq, Turns: int(r.Turns), Digest: r.Digest,
			Status: recovery.Status(r.Status)}
		return nil
	})
	return h, err
}
