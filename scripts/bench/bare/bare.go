//go:build linux

// Package bare is the least that makes the turns of a run durable: what the host is held against.
package bare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// Turn is what the two commits of a turn add to the journal, in bytes: bodies and digests.
type Turn struct{ Answer, Results int }

// DB is the limit of what SQLite makes durable: rows through the same driver with the same
// settings, and nothing else.
type DB struct {
	pool   *sql.DB
	conn   *sql.Conn
	insert *sql.Stmt
}

// Open makes a database in a folder; Close ends it.
func Open(ctx context.Context, dir string) (_ *DB, err error) {
	if _, err := sqlite.OFDLocking(true); err != nil && !sqlite.OFDLockingEnabled() {
		return nil, fmt.Errorf("lock the database by open file description: %v", err) // as the store does
	}
	l := &DB{}
	if l.pool, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate"); err != nil {
		return nil, err
	}
	if l.conn, err = l.pool.Conn(ctx); err != nil {
		return nil, errors.Join(err, l.pool.Close())
	}
	if _, err = l.conn.ExecContext(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)"); err == nil {
		l.insert, err = l.conn.PrepareContext(ctx, "INSERT INTO t (body) VALUES (?)")
	}
	if err != nil {
		return nil, errors.Join(err, l.conn.Close(), l.pool.Close())
	}
	return l, nil
}

// Close ends it.
func (l *DB) Close() error { return errors.Join(l.insert.Close(), l.conn.Close(), l.pool.Close()) }

// Commit makes one row durable. Its context cannot be cancelled: the driver may report an error for
// what it has committed.
func (l *DB) Commit(row []byte) error {
	ctx := context.Background()
	if _, err := l.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if _, err := l.insert.ExecContext(ctx, row); err != nil {
		return err
	}
	_, err := l.conn.ExecContext(ctx, "COMMIT")
	return err
}

// Turn is the two commits of a turn.
func (l *DB) Turn(size Turn) error {
	if err := l.Commit(make([]byte, size.Answer)); err != nil {
		return err
	}
	return l.Commit(make([]byte, size.Results))
}

// Log is the limit of the disk: the same bytes appended to a file, with an fsync where the other
// has a commit.
type Log struct{ file *os.File }

// OpenLog makes a file in a folder; Close ends it.
func OpenLog(dir string) (*Log, error) {
	f, err := os.CreateTemp(dir, "synced-")
	return &Log{f}, err
}

// Close ends it.
func (l *Log) Close() error { return l.file.Close() }

// Turn appends what a turn adds.
func (l *Log) Turn(size Turn) error {
	for _, n := range []int{size.Answer, size.Results} {
		if _, err := l.file.Write(make([]byte, n)); err != nil {
			return err
		}
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	return nil
}
