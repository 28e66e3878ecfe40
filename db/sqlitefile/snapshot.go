package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// Bytes of a page: of a store, which is what SQLite chooses, and of a copy of a large one, which is
// written with as many times fewer calls.
const (
	pageSize      = 4 << 10
	largePageSize = 64 << 10
	large         = 64 << 20 // bytes of the database
)

// Snapshot writes the database as it stands at one moment to a new file, while others read and
// write it. What is written is not durable yet, and has no log beside it; before it is a store, it
// is to be Copied.
func Snapshot(ctx context.Context, f *File, to string) error {
	// A connection that only reads may not do this.
	page := pageSize
	if info, err := os.Stat(f.path); err == nil && info.Size() >= large {
		page = largePageSize
	}
	err := plain(ctx, strings.Replace(f.readingDSN(), "_query_only=1", "", 1), func(conn *sql.Conn) error {
		for wait := newRetries(f.o.BusyWait); ; {
			err := vacuum(ctx, conn, to, page)
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

// Copied writes a database that Edit opened to a file as a store has it: new, or empty.
func Copied(ctx context.Context, conn *sql.Conn, to string) error {
	return vacuum(ctx, conn, to, pageSize)
}

func vacuum(ctx context.Context, conn *sql.Conn, to string, page int) error {
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d", page)); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
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
