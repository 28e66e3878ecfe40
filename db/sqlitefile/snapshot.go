package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// Snapshot writes the database as it stands at one moment to a new file, while others read and
// write it. What is written is not durable yet, and has no log beside it.
func Snapshot(ctx context.Context, f *File, to string) error {
	// A connection that only reads may not do this.
	err := plain(ctx, strings.Replace(f.readingDSN(), "_query_only=1", "", 1), func(conn *sql.Conn) error {
		for wait := newRetries(f.o.BusyWait); ; {
			_, err := conn.ExecContext(ctx, "VACUUM INTO ?", to)
			if !isBusy(err) || !wait.next(ctx) {
				return err
			}
		}
	})
	if err != nil && f.isDiskFull(err) { // nothing else is written
		return fmt.Errorf("copy %s: %w (%s): %w", f.path, ErrDiskFull, filepath.Dir(to), err)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", f.path, f.Explain(err))
	}
	return nil
}

// Edit opens a database that nobody else has: a copy that is being made, or taken apart. Nothing is
// durable, and what fails half-way leaves a file that is of no use.
func Edit(ctx context.Context, path string, do func(conn *sql.Conn) error) error {
	if err := UseOFDLocks(); err != nil {
		return err
	}
	v := url.Values{}
	v.Set("_defensive", "1")
	v.Set("_dqs", "0")
	v.Set("_synchronous", "OFF")
	v.Set("_journal_mode", "MEMORY")
	v.Set("_pragma", "trusted_schema(0)")
	v.Set("mode", "rw")
	return plain(ctx, fileURI(path)+"?"+v.Encode(), do)
}

func plain(ctx context.Context, dsn string, do func(conn *sql.Conn) error) (err error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return err
	}
	pool := sql.OpenDB(c)
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return do(conn)
}
