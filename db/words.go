package db

import (
	"context"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/db/words"
	"agent/recovery/journal"
)

// AddWords takes the words of runs that have ended into the index that they are searched in, in one
// transaction. A run whose record cannot be read is in it without words.
func AddWords(ctx context.Context, s *Store, numbers []int64) error {
	return s.write(ctx, func(t *tx) error {
		for _, no := range numbers {
			if err := takeIn(s, t, no); err != nil {
				return err
			}
		}
		return nil
	})
}

// ended takes in the words of a root that has just ended.
func ended(s *Store, t *tx, h Head) error {
	if !h.Status.Terminal() {
		return nil
	}
	r, err := t.q.GetRunByNo(context.Background(), h.No)
	if err != nil || r.RootNo > 0 {
		return err
	}
	return takeIn(s, t, h.No)
}

// takeIn writes the words of a run, as its texts are stored. Damage is reported by who reads the
// run.
func takeIn(s *Store, t *tx, no int64) error {
	rows, err := t.q.SaidFacts(context.Background(), FactID(no, 0), FactID(no, MaxSeq))
	if err != nil && !sqlitefile.IsDamaged(err) {
		return err
	}
	var bodies []journal.Body
	d := decoder{s: s.Journal, q: t.q}
	for i := range rows {
		var f decoded
		if d.decode(context.Background(), &rows[i], &f); f.body != nil {
			bodies = append(bodies, f.body)
		}
	}
	return words.Add(t.db, no, bodies)
}

// Numbered reads runs by their numbers, the newest first.
func Numbered(ctx context.Context, s *Store, numbers []int64) (out []RunRow, err error) {
	list, err := marshalNumbers(numbers)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "list runs", func(q *dbsqlc.Queries) error {
		rows, err := q.RunsNumbered(ctx, list)
		if err == nil {
			out, err = s.runRows(ctx, q, rows)
		}
		return err
	})
	return out, err
}
