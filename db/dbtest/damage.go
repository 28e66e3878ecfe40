package dbtest

import (
	"bytes"
	"database/sql"
	"os"
	"testing"
)

// Raw changes a database behind the store's back, in ways that it refuses. The store is closed.
func Raw(t testing.TB, path string, statements ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range statements {
		if _, err := pool.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}

// BreakPage has a page under a kept content, which is long enough to have pages of its own, lead
// nowhere. The store is closed.
func BreakPage(t testing.TB, path, name string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	if err := pool.QueryRow("SELECT data FROM kept WHERE id = unhex(?)", name).Scan(&data); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	at := -1
	for from := len(data) / 2; at < 0; from += page / 4 { // a piece that lies on one page
		at = bytes.Index(file, data[from:from+64])
	}
	copy(file[at/page*page:], []byte{0x7f, 0xff, 0xff, 0xff}) // the number of the next one
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}
