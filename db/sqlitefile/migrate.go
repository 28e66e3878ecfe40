package sqlitefile

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"modernc.org/sqlite"

	"agent/tools/durable"
)

// Migration is a step from one format to the next.
type Migration struct {
	Version int
	Name    string // of its file
	Up      string // statements
}

// The number user_version, which is read before SQLite sees the file, holds the format in its low
// byte and 23 bits of the layout above it, so that it is never negative.
const (
	formatBits = 8
	layoutBits = 23
)

func Stamp(format, layout int) int    { return layout<<formatBits | format }
func stampParts(stamp int) (int, int) { return stamp & (1<<formatBits - 1), stamp >> formatBits }

func (o Format) newestStamp() int {
	return Stamp(len(o.Layouts), o.Layouts[len(o.Layouts)-1])
}

// FormatOf is the number of the format in what user_version holds.
func FormatOf(stamp int) int {
	format, _ := stampParts(stamp)
	return format
}

// LayoutOf digests the text of migrations.
func LayoutOf(list []Migration) int {
	h := sha256.New()
	for _, m := range list {
		fmt.Fprintf(h, "%d\x00%s\x00", m.Version, m.Up) // a hash takes everything without an error
	}
	return int(binary.BigEndian.Uint32(h.Sum(nil)) >> (32 - layoutBits))
}

func Migrations(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	sort.Strings(names)
	var list []Migration
	for i, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		v, err := strconv.Atoi(number)
		if err != nil || v != i+1 {
			return nil, fmt.Errorf("read migration %s: its number is not %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		up, err := upPart(string(text))
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		list = append(list, Migration{Version: v, Name: path.Base(name), Up: up})
	}
	return list, nil
}

// upPart is what stands between goose's Up and Down marks.
func upPart(text string) (string, error) {
	_, rest, ok := strings.Cut(text, "-- +goose Up\n")
	if !ok {
		return "", errors.New("it has no line -- +goose Up")
	}
	up, _, _ := strings.Cut(rest, "-- +goose Down\n")
	return up, nil
}

// migrate brings an older database to this binary's format: all that is missing in one transaction.
func (f *File) migrate(ctx context.Context) error {
	var stamp int
	conn, err := f.readers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, f.Explain(err))
	}
	err = f.Pragma(ctx, conn, "user_version", &stamp)
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if have, _ := stampParts(stamp); have == len(f.Format.Layouts) {
		return nil
	}
	return f.w.upgrade(f.Format.Migrations)
}

// Upgrade runs the migrations that the database does not have, inside the transaction that the
// caller has begun.
func Upgrade(ctx context.Context, conn *sql.Conn, files fs.FS) error {
	list, err := Migrations(files)
	if err != nil {
		return err
	}
	var stamp int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&stamp); err != nil {
		return fmt.Errorf("read user_version: %w", err)
	}
	have, _ := stampParts(stamp)
	for _, m := range list {
		if m.Version <= have {
			continue
		}
		if _, err := conn.ExecContext(ctx, m.Up); err != nil {
			return fmt.Errorf("migrate to %s: %w", m.Name, err)
		}
	}
	// The pragma takes no parameter; the number is our own.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", Stamp(len(list), LayoutOf(list)))); err != nil {
		return fmt.Errorf("set user_version: %w", err)
	}
	return nil
}

// createDatabase makes the database under another name and gives it its own when it is whole: no
// moment exists at which a file without tables, or without our mark, could be taken for the
// database. Whoever else makes one at the same time either comes first, and then that one counts,
// or comes second.
func (f *File) createDatabase(ctx context.Context) error {
	if err := UseOFDLocks(); err != nil {
		return err
	}
	empty, err := os.CreateTemp(f.dir, ".agent-*.db")
	if err != nil {
		return fmt.Errorf("create %s: %w", f.path, err)
	}
	temp := empty.Name()
	if err := errors.Join(empty.Chmod(0o600), empty.Close()); err != nil {
		return fmt.Errorf("create %s: %w", temp, errors.Join(err, os.Remove(temp)))
	}
	err = f.Format.fill(ctx, temp)
	if err == nil {
		err = syncFile(temp)
	}
	if err == nil {
		err = syncAbove(f.dir) // before it has its name: who finds the database need not ask whether its folder lasts
	}
	if err == nil {
		err = os.Link(temp, f.path)
	}
	if err != nil {
		if _, there := os.Lstat(f.path); there == nil {
			err = nil // ours, or that of another process, which then removed our file as left over
		}
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", f.path, errors.Join(f.Explain(err), removeTemps(f.dir)))
	}
	if err := removeTemps(f.dir); err != nil {
		return fmt.Errorf("create %s: %w", f.path, err)
	}
	return durable.SyncDir(f.dir)
}

// removeTemps removes what this and earlier tries left. A process that loses its file so finds the
// database there.
func removeTemps(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, ".agent-*.db*"))
	if err != nil {
		return fmt.Errorf("list unfinished databases: %w", err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove unfinished database: %w", err)
		}
	}
	return nil
}

// fill writes mark, tables and first rows into an empty file and leaves no log beside it.
func (o Format) fill(ctx context.Context, file string) (err error) {
	c, err := sqlite.NewConnector(fileURI(file) + "?_synchronous=FULL&mode=rw")
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
	// Free pages can be given back later, a few at a time, only where this was said before there
	// were any.
	for _, text := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "BEGIN IMMEDIATE", fmt.Sprintf("PRAGMA application_id = %d", o.ApplicationID)} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if err := Upgrade(ctx, conn, o.Migrations); err != nil {
		return err
	}
	if err := o.Fill(ctx, conn, file); err != nil {
		return err
	}
	for _, text := range []string{"COMMIT", "PRAGMA journal_mode = WAL"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
