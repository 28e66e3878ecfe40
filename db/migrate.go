package db

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"embed"
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

	"agent/db/dbsqlc"
	"agent/durable"
)

// migrations holds the files 00001_name.sql, 00002_… in goose's format. A released one is never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

type migration struct {
	version int
	name    string
	up      string
}

// schemaVersion is the newest format that this binary knows.
func schemaVersion() int { return knownSchema }

// knownSchema is the number of the last migration; a test compares it with the files.
const knownSchema = 1

// layouts are the layouts of the formats from 1 to knownSchema, each the digest of all migrations up to it (layoutOf). A
// database whose layout is another one was made by a build that was never released, when a migration had another text.
func layouts() [knownSchema]int { return [...]int{0xdd318} }

// trialLayouts are those of formats that builds made which were never released, where their numbers are given to other formats now.
func trialLayouts() []int { return []int{0x441b1d, 0x3b2bb4} }

// The number user_version, which is read before SQLite sees the file, holds the format in its low byte and 23 bits of the
// layout above it, so that it is never negative.
const (
	formatBits = 8
	layoutBits = 23
)

func stampOf(format, layout int) int  { return layout<<formatBits | format }
func stampParts(stamp int) (int, int) { return stamp & (1<<formatBits - 1), stamp >> formatBits }
func newestStamp() int                { return stampOf(knownSchema, layouts()[knownSchema-1]) }

// layoutOf digests the text of migrations.
func layoutOf(list []migration) int {
	h := sha256.New()
	for _, m := range list {
		fmt.Fprintf(h, "%d\x00%s\x00", m.version, m.up) // a hash takes everything without an error
	}
	return int(binary.BigEndian.Uint32(h.Sum(nil)) >> (32 - layoutBits))
}

func loadMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	sort.Strings(names)
	var list []migration
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
		list = append(list, migration{version: v, name: path.Base(name), up: up})
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
func (s *Store) migrate(ctx context.Context) error {
	var stamp int
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, s.explain(err))
	}
	err = s.pragma(ctx, conn, "user_version", &stamp)
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if have, _ := stampParts(stamp); have == schemaVersion() {
		return nil
	}
	return s.w.upgrade(migrations)
}

// upgrade runs the migrations that the database does not have, inside the transaction that the caller has begun.
func upgrade(ctx context.Context, conn *sql.Conn, files fs.FS) error {
	list, err := loadMigrations(files)
	if err != nil {
		return err
	}
	var stamp int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&stamp); err != nil {
		return fmt.Errorf("read user_version: %w", err)
	}
	have, _ := stampParts(stamp)
	for _, m := range list {
		if m.version <= have {
			continue
		}
		if _, err := conn.ExecContext(ctx, m.up); err != nil {
			return fmt.Errorf("migrate to %s: %w", m.name, err)
		}
	}
	// The pragma takes no parameter; the number is our own.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", stampOf(len(list), layoutOf(list)))); err != nil {
		return fmt.Errorf("set user_version: %w", err)
	}
	return nil
}

// createDatabase makes the database under another name and gives it its own when it is whole: no moment exists at which
// a file without tables, or without our mark, could be taken for the database. Whoever else makes one at the same time
// either comes first, and then that one counts, or comes second.
func (s *Store) createDatabase(ctx context.Context) error {
	if err := useOFDLocks(); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, ".agent-*.db")
	if err != nil {
		return fmt.Errorf("create %s: %w", s.path, err)
	}
	temp := f.Name()
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return fmt.Errorf("create %s: %w", temp, errors.Join(err, os.Remove(temp)))
	}
	err = fill(ctx, temp, s.key, migrations)
	if err == nil {
		err = syncFile(temp)
	}
	if err == nil {
		err = syncAbove(s.dir) // before it has its name: who finds the database need not ask whether its folder lasts
	}
	if err == nil {
		err = os.Link(temp, s.path)
	}
	if err != nil {
		if _, there := os.Lstat(s.path); there == nil {
			err = nil // ours, or that of another process, which then removed our file as left over
		}
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", s.path, errors.Join(s.explain(err), removeTemps(s.dir)))
	}
	if err := removeTemps(s.dir); err != nil {
		return fmt.Errorf("create %s: %w", s.path, err)
	}
	return durable.SyncDir(s.dir)
}

// removeTemps removes what this and earlier tries left. A process that loses its file so finds the database there.
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

// newStoreID names a store that is made here.
func newStoreID() string { return "s-" + rand.Text() }

// fill writes mark, tables and what tells the key into an empty file and leaves no log beside it.
func fill(ctx context.Context, file string, key []byte, files fs.FS) (err error) {
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
	// Free pages can be given back later, a few at a time, only where this was said before there were any.
	for _, text := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "BEGIN IMMEDIATE", fmt.Sprintf("PRAGMA application_id = %d", applicationID)} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if err := upgrade(ctx, conn, files); err != nil {
		return err
	}
	if err := dbsqlc.New(conn).SetStore(ctx, newStoreID(), keyMAC(key)); err != nil {
		return err
	}
	for _, text := range []string{"COMMIT", "PRAGMA journal_mode = WAL"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
