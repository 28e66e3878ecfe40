package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"
)

func newQueries(tb testing.TB) *Queries {
	tb.Helper()
	if err := UseOFDLocks(); err != nil {
		tb.Fatal(err)
	}
	c, err := sqlite.NewConnector("file:" + filepath.Join(tb.TempDir(), "q.db"))
	if err != nil {
		tb.Fatal(err)
	}
	f := &File{}
	f.read(c)
	f.readers.SetMaxOpenConns(maxReaders)
	tb.Cleanup(func() {
		if err := f.readers.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, err := f.readers.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO t (body) VALUES ('one'), ('two')"); err != nil {
		tb.Fatal(err)
	}
	return f.queries
}

const bodyOf = "-- name: BodyOf :one\nSELECT body FROM t WHERE id = ?\n"

func body(tb testing.TB, q *Queries, id int) (out string) {
	tb.Helper()
	if err := q.QueryRowContext(tb.Context(), bodyOf, id).Scan(&out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// A query is prepared once and answers each time what is there then: also while its rows are read
// on another connection, after nobody wanted the answer, and after the tables have changed.
func TestQueriesStayPrepared(t *testing.T) {
	q := newQueries(t)
	if got := body(t, q, 1); got != "one" {
		t.Errorf("%q", got)
	}
	first := q.kept[bodyOf]
	rows, err := q.QueryContext(t.Context(), bodyOf, 1)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	if got := body(t, q, 2); got != "two" {
		t.Errorf("beside another: %q", got)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.QueryRowContext(gone, bodyOf, 1).Scan(new(string)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := q.ExecContext(t.Context(), "ALTER TABLE t RENAME TO old; CREATE TABLE t (extra TEXT, body TEXT, id INTEGER); INSERT INTO t VALUES ('', 'three', 1)"); err != nil {
		t.Fatal(err)
	}
	if got := body(t, q, 1); got != "three" {
		t.Errorf("of another table: %q", got)
	}
	if first == nil || q.kept[bodyOf] != first || len(q.kept) != 1 {
		t.Errorf("it was prepared again: %d are kept", len(q.kept))
	}
}

// What cannot be prepared says why and is not kept, and of texts without end only some are.
func TestQueriesThatAreNotKept(t *testing.T) {
	q := newQueries(t)
	for range 2 {
		if err := q.QueryRowContext(t.Context(), "SELECT nothing FROM t").Scan(new(string)); err == nil || !strings.Contains(err.Error(), "nothing") {
			t.Errorf("%v", err)
		}
	}
	for i := range mostKept + 10 {
		var n int
		if err := q.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", i)).Scan(&n); err != nil || n != i {
			t.Fatal(n, err)
		}
	}
	if len(q.kept) != mostKept {
		t.Errorf("%d are kept", len(q.kept))
	}
}
