package prune

import (
	"context"
	"fmt"
	"time"

	"agent/db"
	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/recovery/fault"
)

// hidden is steps 2 and 3 of all hidden runs, whoever hid them. One whose lock another process
// holds is left to the next time.
func (r *remover) hidden(ctx context.Context) error {
	for after := int64(0); !r.enough(); {
		var runs []dbsqlc.HiddenRunsRow
		err := db.Read(ctx, r.s, "list what is to be removed", func(q *dbsqlc.Queries) (err error) {
			runs, err = q.HiddenRuns(ctx, after, chunk)
			return err
		})
		if err != nil || len(runs) == 0 {
			return err
		}
		after = runs[len(runs)-1].No
		mine := runs[:0]
		for _, run := range runs {
			ok, err := r.hold(run.ID)
			if err != nil {
				return err
			}
			if ok {
				mine = append(mine, run)
			} else {
				r.report.Later = "run " + run.ID + " is held by another process; the next agent prune removes the rest of it"
			}
		}
		if err := r.some(ctx, mine); err != nil {
			return err
		}
	}
	return nil
}

// some removes a few hidden runs whose locks are held.
func (r *remover) some(ctx context.Context, runs []dbsqlc.HiddenRunsRow) error {
	if err := r.rows(ctx, runs); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	fault.Hit(fault.PruneRows)
	for _, run := range runs {
		if err := r.hands.Files(run.ID); err != nil {
			return fmt.Errorf("prune run %s: %w", run.ID, err)
		}
	}
	for left := runs; len(left) > 0; {
		done := 0
		err := sqlitefile.WriteUnchecked(ctx, r.s.File(), func(t *sqlitefile.Tx) error {
			q, began := dbsqlc.New(t.Statements), time.Now()
			for done = 0; done < len(left) && (done == 0 || time.Since(began) < slice); done++ {
				if err := q.DropRun(ctx, left[done].No); err != nil {
					return err
				}
			}
			return q.DropThread(ctx, "t-pruned")
		})
		if err != nil {
			return fmt.Errorf("prune: %w", err)
		}
		for _, run := range left[:done] {
			if err := r.held[run.ID].Remove(); err != nil {
				return fmt.Errorf("prune run %s: %w", run.ID, err)
			}
			delete(r.held, run.ID)
			r.report.Runs++
		}
		left = left[done:]
		r.rest(ctx)
	}
	return nil
}

// place is how far the rows of runs are removed.
type place struct {
	run   int   // of the list
	table int   // of tables
	at    int64 // the last key that is gone
}

// grain is how many rows one statement removes: at most 1 MiB of bodies.
const grain = 32

// rows removes what hidden runs have beside their own rows. A transaction that is undone, or tried
// again, begins where the one before it ended.
func (r *remover) rows(ctx context.Context, runs []dbsqlc.HiddenRunsRow) error {
	for p := (place{}); p.run < len(runs); {
		var next place
		err := r.s.File().Write(ctx, func(t *sqlitefile.Tx) error {
			q, began := dbsqlc.New(t.Statements), time.Now()
			next = p
			for next.run < len(runs) && (next == p || time.Since(began) < slice) {
				if err := next.step(q, t, runs[next.run]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		p = next
		r.rest(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return r.messages(ctx)
}

// step removes a few rows of a run.
func (p *place) step(q *dbsqlc.Queries, t *sqlitefile.Tx, run dbsqlc.HiddenRunsRow) (err error) {
	ctx, n := context.Background(), int64(0)
	switch p.table {
	case 0:
		low := max(p.at, 0) + 1
		_, err = q.DropFacts(ctx, db.FactID(run.No, low), db.FactID(run.No, low+grain-1))
		if p.at = low + grain - 1; p.at < run.LastSeq {
			return err
		}
	case 1:
		low := max(p.at+1, run.FirstCall)
		_, err = q.DropCalls(ctx, low, low+4*grain-1, run.No)
		if p.at = low + 4*grain - 1; run.FirstCall > 0 && p.at < run.LastCall {
			return err
		}
	case 2:
		n, err = q.DropRequests(ctx, run.No, grain)
	case 3:
		n, err = q.DropFileChanges(ctx, run.No, grain)
	case 4:
		n, err = q.DropCommits(ctx, run.No, grain)
	case 5:
		_, err = t.ExecContext(ctx, "DELETE FROM search WHERE rowid = ?", run.No)
	default:
		*p = place{run: p.run + 1}
		return nil
	}
	if n < grain {
		p.table, p.at = p.table+1, 0
	}
	return err
}

// messages removes what was left for runs that are hidden.
func (r *remover) messages(ctx context.Context) error {
	for n := int64(grain); n == grain; {
		err := r.s.File().Write(ctx, func(t *sqlitefile.Tx) (err error) {
			n, err = dbsqlc.New(t.Statements).DropMessages(ctx, grain)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// giveBack cuts free pages off the database, a few at a time. The file gets shorter when its log is
// brought in.
func (r *remover) giveBack(ctx context.Context) error {
	for last := int64(-1); !r.enough(); {
		free, err := r.pragma(ctx, "freelist_count")
		if err != nil || free == 0 || free == last {
			return err
		}
		last = free
		err = r.s.File().Write(ctx, func(t *sqlitefile.Tx) error {
			for began := time.Now(); time.Since(began) < slice; {
				n, err := cut(ctx, t)
				if err != nil || n == 0 {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("give free pages back: %w", err)
		}
		r.rest(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// cut frees up to 16 pages: one with each row that is read.
func cut(ctx context.Context, t *sqlitefile.Tx) (n int, err error) {
	rows, err := t.QueryContext(ctx, "PRAGMA incremental_vacuum(16)")
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		_ = rows.Close() // it says the same
		return n, err
	}
	return n, rows.Close()
}
