package maintain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/journal"
)

func TestCheck(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, dbtest.StateDir(t))
	h := startRun(t, s, "r-checkche")
	a, b := dbtest.Turn(1, "c-11111111", strings.Repeat("large ", 100<<10))
	h = appendAll(t, s, h, a, db.AppendOptions{})
	appendAll(t, s, h, b, db.AppendOptions{})
	r, err := Check(ctx, s)
	if err != nil || len(r.Problems) > 0 || len(r.Leftover) > 0 {
		t.Fatalf("%+v %v", r, err)
	}
	want := map[string]int64{"threads": 1, "runs": 1, "journal": 8, "blobs": 1, "tool_executions": 1, "pending_requests": 0, "inbox": 0, "secrets": 0, "environments": 0, "kept": 0, "file_changes": 0, "commits": 0}
	if fmt.Sprint(r.Counts) != fmt.Sprint(want) {
		t.Errorf("%v", r.Counts)
	}
	if r.Format != 6 || r.SQLite < "3.51.3" || r.Settings["journal_mode"] != "wal" || r.Database == 0 || r.Blobs < 600000 || r.Free <= 0 {
		t.Errorf("%+v", r)
	}
	file := dbtest.BodyFile(t, s.Dir())
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(filepath.Dir(file), strings.Repeat("0", 64))
	if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err = Check(ctx, s)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], file) || len(r.Leftover) != 1 || r.Leftover[0] != stray {
		t.Errorf("%+v %v", r, err)
	}
}

// What an index says is compared with its table: a search would miss the row.
func TestCheckReadsIndexes(t *testing.T) {
	ctx := context.Background()
	dir := dbtest.StateDir(t)
	s := openStore(t, dir)
	startRun(t, s, "r-checkche")
	var page int64
	err := s.File().Readers().QueryRowContext(ctx, "SELECT rootpage FROM sqlite_schema WHERE name = 'runs_by_id'").Scan(&page)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, db.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data[(page-1)<<12:page<<12], []byte("r-checkche"))
	if at < 0 {
		t.Fatalf("page %d does not hold the id", page)
	}
	data[(page-1)<<12+int64(at)+3]++
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Check(ctx, openStore(t, dir))
	if err != nil || len(r.Problems) == 0 || !strings.Contains(r.Problems[0], "runs_by_id") {
		t.Errorf("problems %q, %v", r.Problems, err)
	}
}

// From a file with destroyed pages everything outside of them is saved, in a form that a person can
// read.
func TestSalvage(t *testing.T) {
	ctx := context.Background()
	dir := dbtest.StateDir(t)
	s, err := db.Open(ctx, dir, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-salvages")
	for n := 1; n <= 100; n++ {
		a, b := dbtest.Turn(n, fmt.Sprintf("c-%08d", n), strings.Repeat("result ", 200))
		h = appendAll(t, s, h, append(a, b...), db.AppendOptions{})
	}
	a, b := dbtest.Turn(101, "c-largecal", strings.Repeat("large body ", 5000))
	h = appendAll(t, s, h, append(a, b...), db.AppendOptions{})
	ask(t, s, startRun(t, s, "r-salvage2"), "p-salvages")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := salvaged(t, dir)
	if n := len(whole["journal"]); int64(n) != h.Seq+4 {
		t.Fatalf("%d facts of %d were saved from a sound file", n, h.Seq+4)
	}
	if len(whole["runs"]) != 2 || len(whole["blobs"]) != 1 || len(whole["pending_requests"]) != 1 {
		t.Errorf("%d runs, %d bodies, %d requests", len(whole["runs"]), len(whole["blobs"]), len(whole["pending_requests"]))
	}
	if data, _ := whole["blobs"][0]["data"].(string); !strings.Contains(data, "large body large body") {
		t.Errorf("the body is not readable: %.80s", data)
	}
	settled := whole["journal"][5]
	if body, ok := settled["body"].(map[string]any); settled["kind"] != string(journal.KindCallSettled) || !ok || body["result"] == nil {
		t.Errorf("%v", settled)
	}

	path := filepath.Join(dir, db.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const leafOfTable = 0x0d // with a page above the leaves, all of them are lost
	for page := 30; page < len(data)/4096; page += 10 {
		if data[page*4096] == leafOfTable && !bytes.Contains(data[page*4096:][:4096], []byte("CREATE ")) { // the schema's own pages
			copy(data[page*4096:], bytes.Repeat([]byte{0xee}, 4096))
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	before := dbtest.Snapshot(t, dir)
	rest := salvaged(t, dir)
	if n := len(rest["journal"]); n < len(whole["journal"])*3/4 || n == len(whole["journal"]) {
		t.Errorf("%d facts of %d were saved", n, len(whole["journal"]))
	}
	if fmt.Sprint(before) != fmt.Sprint(dbtest.Snapshot(t, dir)) {
		t.Error("saving changed the folder")
	}
}

// salvaged is what Salvage writes, by table.
func salvaged(t *testing.T, dir string) map[string][]map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := Salvage(context.Background(), dir, &out); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]map[string]any{}
	for d := json.NewDecoder(&out); d.More(); {
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if _, end := row["unreadable"]; !end {
			name := row["table"].(string)
			rows[name] = append(rows[name], row)
		}
	}
	return rows
}
