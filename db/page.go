package db

import (
	"context"
	"database/sql"
	"errors"

	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// Row is a fact as the journal holds it. Its body is nil where a newer binary wrote a kind or a
// version that this one does not know.
type Row struct {
	journal.Event
	Digest []byte // of the journal up to this fact
	Size   int    // bytes of the body as it is stored
}

// pageStep is how many facts a page reads at once before it looks at their size.
const pageStep = 32

// Page reads facts of a run after the one numbered after, in order: at most rows of them, and none
// more once their bodies have size bytes. What it returns was compared with its digests, as Load
// does; secrets are placeholders. No transaction is open when it returns, so a reader that is slow
// with a page holds nothing back.
func Page(ctx context.Context, s *Store, run string, after int64, rows int, size int) ([]Row, error) {
	h, err := s.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	c := &cursor{s: s.Journal, head: h, seq: max(0, after), unknown: true}
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	var page []Row
	for len(page) < rows && size > 0 && c.seq < h.Seq {
		step := int64(min(pageStep, rows-len(page)))
		if err := s.read(ctx, "read run "+run, func(q *dbsqlc.Queries) error {
			list, err := q.Facts(ctx, FactID(h.No, c.seq), FactID(h.No, h.Seq), step)
			if err == nil && len(list) == 0 {
				err = s.corrupt(run, c.seq+1, "it is missing", nil)
			}
			d := decoder{s: s.Journal, q: q}
			for i := 0; err == nil && i < len(list) && size > 0; i++ {
				var found decoded
				var e journal.Event
				d.decode(ctx, &list[i], &found)
				if e, err = c.next(&list[i], &found); err == nil {
					page, size = append(page, Row{Event: e, Digest: list[i].Digest, Size: found.size}), size-found.size
				}
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// Fact decodes a row of a run's journal that a query picked out, and compares it with its digest,
// which is chained to the one before it.
func Fact(ctx context.Context, s *Store, q *dbsqlc.Queries, run string, r *dbsqlc.Journal, before []byte) (journal.Event, error) {
	c := &cursor{s: s.Journal, head: Head{Run: run}, seq: r.ID&MaxSeq - 1}
	copy(c.digest[:], before)
	var found decoded
	(&decoder{s: s.Journal, q: q}).decode(ctx, r, &found)
	return c.next(r, &found)
}

// CheckFormat says with a *NewerError that a newer binary has brought an open store up to date.
func CheckFormat(ctx context.Context, s *Store) error { return s.file.CheckFormat(ctx) }

// DigestAt is the digest of a run's journal up to one fact, and false where there is no such fact.
func DigestAt(ctx context.Context, s *Store, run string, seq int64) ([]byte, bool, error) {
	h, err := s.Head(ctx, run)
	if err != nil {
		return nil, false, err
	}
	if seq < 1 || seq > h.Seq {
		return nil, false, nil
	}
	var digest []byte
	err = s.read(ctx, "read run "+run, func(q *dbsqlc.Queries) error {
		digest, err = q.GetDigest(ctx, FactID(h.No, seq))
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	})
	return digest, digest != nil, err
}
