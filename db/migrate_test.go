package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"agent/db/sqlitefile"
)

// editFile runs statements on the database of a folder that no process has open.
func editFile(t *testing.T, dir string, edit func(ctx context.Context, conn *sql.Conn) error) {
	t.Helper()
	c, err := sqlite.NewConnector("file:" + filepath.Join(dir, FileName) + "?mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(edit(t.Context(), conn), conn.Close(), pool.Close()); err != nil {
		t.Fatal(err)
	}
}

func migrationNames(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) != knownSchema {
		t.Fatal(names, err)
	}
	return names
}

// A state folder that is brought up to date loses nothing: what was recorded is read as before. The
// migration that is missing is run once, and the file says that it has it.
func TestMissingMigrationIsRun(t *testing.T) {
	dir := stateDir(t)
	s := openStore(t, dir)
	ask(t, s, startRun(t, s, "r-firstrun"), "p-firstask")
	before := loadAll(t, s, "r-firstrun")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	more := fmt.Sprintf("migrations/%05d_more.sql", knownSchema+1)
	files := fstest.MapFS{
		more: {Data: []byte("-- +goose Up\nCREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;\n-- +goose Down\nDROP TABLE more;\n")},
	}
	for _, name := range migrationNames(t) {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	var stamp int
	editFile(t, dir, func(ctx context.Context, conn *sql.Conn) error {
		for range 2 {
			if err := sqlitefile.Upgrade(ctx, conn, files); err != nil {
				return err
			}
		}
		if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&stamp); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, fmt.Sprintf("DROP TABLE more; PRAGMA user_version = %d", sqlitefile.Stamp(knownSchema, layouts()[knownSchema-1])))
		return err
	})
	if format := sqlitefile.FormatOf(stamp); format != knownSchema+1 {
		t.Errorf("the file says that its format is %d", format)
	}
	if diff := cmp.Diff(before, loadAll(t, openStore(t, dir), "r-firstrun")); diff != "" {
		t.Errorf("facts changed (-before +after):\n%s", diff)
	}
}

// A folder of a build that was never released is refused as such, also where its format has a
// number that is given to another one now.
func TestTrialFormatIsRefused(t *testing.T) {
	for format, layout := range trialLayouts() {
		dir := stateDir(t)
		if err := openStore(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
		editFile(t, dir, func(ctx context.Context, conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", sqlitefile.Stamp(format+1, layout)))
			return err
		})
		if _, err := Open(t.Context(), dir, Options{NoBallast: true}); !errors.As(err, new(*ForeignError)) {
			t.Errorf("format %d of a trial: %v", format+1, err)
		}
	}
}
