package db

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
)

// damages is what SQLite's own checks and the hashes of bodies say against a store; leftover are
// files of bodies that no row names.
func damages(t *testing.T, s *Store) (list, leftover []string) {
	t.Helper()
	conn, err := s.file.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, check := range []string{"integrity_check", "foreign_key_check"} {
		lines, err := sqlitefile.Lines(t.Context(), conn, "PRAGMA "+check)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if line != "ok" {
				list = append(list, line)
			}
		}
	}
	rows, err := dbsqlc.New(conn).AllBlobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, b := range rows {
		if b.Encoding == blob.InFile {
			named[s.Bodies().Path(b.Hash)] = true
			if what := s.Bodies().Check(b.Hash, b.Size); what != "" {
				list = append(list, what)
			}
		}
	}
	for _, path := range bodyFiles(t, s) {
		if !named[path] {
			leftover = append(leftover, path)
		}
	}
	return list, leftover
}

// bodyFiles are the files of a store's bodies.
func bodyFiles(t *testing.T, s *Store) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), blob.Folder, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// everything is the text of every row, and of every body as it was before it was compressed.
func everything(t *testing.T, s *Store) string {
	t.Helper()
	conn, err := s.file.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tables, err := sqlitefile.Lines(t.Context(), conn, "SELECT name FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, table := range tables {
		rows, err := sqlitefile.Records(t.Context(), conn, "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			for _, column := range r.Columns() {
				value := r[column]
				if data, ok := value.([]byte); ok {
					value = string(data)
				}
				if table == "blobs" && column == "data" {
					value = body(t, s, r)
				}
				fmt.Fprintf(&out, "%s.%s: %v\n", table, column, value)
			}
		}
	}
	return out.String()
}

// body is what a row of the table blobs stands for.
func body(t *testing.T, s *Store, r sqlitefile.Record) string {
	t.Helper()
	packed, _ := r["data"].([]byte)
	data, err := s.Bodies().Open(r["hash"].([]byte), r["size"].(int64), r["encoding"].(string), packed)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// bodySize is how many bytes the files of bodies have.
func bodySize(t *testing.T, s *Store) (size int64) {
	t.Helper()
	for _, path := range bodyFiles(t, s) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}
