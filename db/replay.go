package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

// Replay is a database in memory into which journals are written once more, one run at a time, by
// the same code that writes them the first time. What the tables beside the journal hold afterwards
// is what the journal proves.
type Replay struct {
	Store *Store
	Conn  *sql.Conn
	pool  *sql.DB
	q     *dbsqlc.Queries

	Unproved map[string]bool // threads whose first run cannot be read: nothing says what their rows should be
}

// NewReplay makes an empty one. The caller closes it.
func NewReplay(ctx context.Context, s *Store) (*Replay, error) {
	c, err := sqlite.NewConnector("file::memory:?_dqs=0")
	if err != nil {
		return nil, fmt.Errorf("make a database in memory: %w", err)
	}
	r := &Replay{Store: s, pool: sql.OpenDB(c), Unproved: map[string]bool{}}
	if r.Conn, err = r.pool.Conn(ctx); err == nil {
		err = sqlitefile.Upgrade(ctx, r.Conn, migrations)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a database in memory: %w", err), r.Close())
	}
	r.q = dbsqlc.New(r.Conn)
	return r, nil
}

// Close lets go of the database in memory.
func (r *Replay) Close() error {
	var err error
	if r.Conn != nil {
		err = r.Conn.Close()
	}
	return errors.Join(err, r.pool.Close())
}

// Run writes the journal of one run, by its number. A journal that does not match its digests gives
// *CorruptError. It returns the last fact's place.
func (r *Replay) Run(ctx context.Context, no int64) (last int64, err error) {
	if err := r.clear(ctx, no); err != nil {
		return 0, err
	}
	c := &cursor{s: r.Store.Journal, head: Head{No: no, Run: fmt.Sprintf("with number %d", no)}}
	d := &decoder{s: r.Store.Journal, q: dbsqlc.New(r.Store.file.Readers())}
	st, h := &recovery.State{}, Head{No: no, Status: recovery.StatusQueued}
	for {
		var rows []dbsqlc.Journal
		err := r.Store.read(ctx, "read the journal of "+c.head.Run, func(q *dbsqlc.Queries) error {
			var err error
			rows, err = q.Facts(ctx, FactID(no, c.seq), FactID(no, MaxSeq), chunk)
			return err
		})
		if err != nil || len(rows) == 0 {
			return c.seq, err
		}
		for i := range rows {
			var found decoded
			d.decode(ctx, &rows[i], &found)
			e, err := c.next(&rows[i], &found)
			if err != nil {
				return 0, err
			}
			if err := st.Apply(e); err != nil {
				return 0, r.Store.corrupt(c.head.Run, e.Seq, err.Error(), nil)
			}
			if h, err = r.write(ctx, h, e, &rows[i], st); err != nil {
				return 0, fmt.Errorf("replay fact %d of run %s: %w", e.Seq, c.head.Run, err)
			}
			c.head.Run = h.Run
		}
	}
}

// clear makes room for another run: only its thread stays.
func (r *Replay) clear(ctx context.Context, no int64) error {
	for _, text := range []string{
		"DELETE FROM commits", "DELETE FROM file_changes", "DELETE FROM pending_requests", "DELETE FROM tool_executions", "DELETE FROM journal", "DELETE FROM blobs", "DELETE FROM runs",
		"DELETE FROM sqlite_sequence WHERE name = 'runs'", fmt.Sprintf("INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', %d)", no-1),
	} {
		if _, err := r.Conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("empty the database in memory: %w", err)
		}
	}
	return nil
}

// write carries over one fact as it is stored, and projects it.
func (r *Replay) write(ctx context.Context, h Head, e journal.Event, row *dbsqlc.Journal, st *recovery.State) (Head, error) {
	t := &tx{Tx: &sqlitefile.Tx{}, q: r.q, db: r.Conn}
	f := fact{seq: e.Seq, body: e.Body, row: dbsqlc.Journal{
		ID: row.ID, Turn: row.Turn, Kind: row.Kind, V: row.V, Time: row.Time, Body: row.Body, BodyHash: row.BodyHash, Digest: row.Digest,
	}}
	if row.BodyHash != nil {
		b, err := dbsqlc.New(r.Store.file.Readers()).GetBlob(ctx, row.BodyHash)
		if err != nil {
			return h, err
		}
		if err := r.q.AddBlob(ctx, b.Hash, b.Size, b.Encoding, b.Data); err != nil {
			return h, err
		}
	}
	if c, ok := e.Body.(journal.RunCreated); ok {
		if err := r.create(ctx, c, row.Time); err != nil {
			return h, err
		}
		h.Run, h.Thread = c.Run, c.Thread
	}
	return r.Store.appendFacts(t, h, batch{facts: []fact{f}}, AppendOptions{State: st})
}

// create writes the rows that a run's first fact makes. A thread's row comes from the first run of
// the thread.
func (r *Replay) create(ctx context.Context, c journal.RunCreated, now int64) error {
	_, err := r.q.GetThread(ctx, c.Thread)
	if errors.Is(err, sql.ErrNoRows) {
		folder, created := c.Folder, now
		if c.Previous != "" {
			var known bool
			if folder, created, known, err = r.begin(ctx, c.Thread); err != nil {
				return err
			}
			r.Unproved[c.Thread] = !known
		}
		of, lost := keyOf(ctx, dbsqlc.New(r.Store.file.Readers()), c)
		if lost != nil { // what it came from is gone
			of, r.Unproved[c.Thread] = c.FamilyThread(), true
		}
		err = r.q.CreateThread(ctx, c.Thread, of, folder, created)
	}
	if err != nil {
		return err
	}
	row, err := runParams(ctx, dbsqlc.New(r.Store.file.Readers()), c, now)
	if err != nil {
		return err
	}
	_, err = r.q.CreateRun(ctx, row)
	return err
}

// begin reads the first fact of a thread's first run. It is not known where that run's row is lost
// or its journal is damaged.
func (r *Replay) begin(ctx context.Context, thread string) (folder string, created int64, known bool, err error) {
	first, err := sqlitefile.Records(ctx, r.Store.file.Readers(), "SELECT MIN(no) AS no FROM runs WHERE thread = ? AND previous = '' HAVING no IS NOT NULL", thread)
	if err != nil || len(first) == 0 {
		return "", 0, false, err
	}
	no := first[0]["no"].(int64)
	q := dbsqlc.New(r.Store.file.Readers())
	rows, err := q.Facts(ctx, FactID(no, 0), FactID(no, MaxSeq), 1)
	if err != nil || len(rows) == 0 {
		return "", 0, false, err
	}
	var found decoded
	(&decoder{s: r.Store.Journal, q: q}).decode(ctx, &rows[0], &found)
	e, err := (&cursor{s: r.Store.Journal, head: Head{No: no, Run: fmt.Sprintf("with number %d", no)}}).next(&rows[0], &found)
	if errors.As(err, new(*CorruptError)) {
		return "", 0, false, nil // reading that run reports it
	}
	c, ok := e.Body.(journal.RunCreated)
	return c.Folder, rows[0].Time, ok && c.Thread == thread, err
}
