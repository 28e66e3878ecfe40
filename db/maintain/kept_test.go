package maintain

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/keep"
	"agent/recovery/journal"
)

// keepContents appends a fact with which contents are kept.
func keepContents(t *testing.T, s *db.Store, h db.Head, all ...[]byte) (names []string) {
	t.Helper()
	kept, err := s.Contents()
	if err != nil {
		t.Fatal(err)
	}
	var rows []keep.Row
	for _, c := range all {
		r, err := kept.Stage(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		rows, names = append(rows, r), append(names, r.Name)
	}
	appendAll(t, s, h, dbtest.InTurn(1, journal.RunNoted{Text: "kept"}), db.AppendOptions{Kept: rows})
	return names
}

// A check names each content that cannot be given back, with where it lies, and each file that no
// row names. Neither is a damage of the database, which would be built anew.
func TestCheckKept(t *testing.T) {
	ctx, dir := context.Background(), dbtest.StateDir(t)
	s := openStore(t, dir)
	large, other := make([]byte, 400<<10), make([]byte, 400<<10)
	rand.NewChaCha8([32]byte{1}).Read(large)
	rand.NewChaCha8([32]byte{2}).Read(other)
	names := keepContents(t, s, startRun(t, s, "r-checkkep"), []byte("small"), []byte("sound"), large, other)
	r, err := Check(ctx, s)
	if err != nil || len(r.Kept.Problems) != 0 || len(r.Kept.Leftover) != 0 || r.Counts["kept"] != 4 || r.Kept.Files < 800<<10 {
		t.Fatalf("%+v %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execIn(t, dir, "UPDATE kept SET data = zeroblob(length(data)) WHERE id = x'"+names[0]+"'")
	file := filepath.Join(dir, keep.Folder, names[2][:2], names[2])
	stray := filepath.Join(filepath.Dir(file), ".new-12345")
	for _, err := range []error{os.Truncate(file, 1000), os.WriteFile(stray, []byte("half"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err = Check(ctx, openStore(t, dir))
	if err != nil || len(r.Problems) != 0 || len(r.Kept.Leftover) != 1 || r.Kept.Leftover[0] != stray {
		t.Errorf("%+v %v", r, err)
	}
	if p := r.Kept.Problems; len(p) != 2 || !strings.Contains(p[0], names[0][:12]) || !strings.Contains(p[1], names[2][:12]) || !strings.Contains(p[1], file) {
		t.Errorf("%q", p)
	}
}

// What is kept holds secrets as they are, sealed: no search finds one, and what is saved of a
// damaged folder has it sealed too, under the name that facts give it.
func TestKeptSecrets(t *testing.T) {
	ctx, dir := context.Background(), dbtest.StateDir(t)
	s := openStore(t, dir, knowing)
	large := make([]byte, 400<<10)
	rand.NewChaCha8([32]byte{1}).Read(large)
	names := keepContents(t, s, startRun(t, s, "r-secretke"), []byte("token "+canary+" of kept"), append(large, canary...))
	if found, err := FindExposed(ctx, s, nil); err != nil || len(found) != 0 {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rows := salvaged(t, dir)["kept"]
	if len(rows) != 2 || rows[0]["id"] != names[0] || rows[0]["data"] == nil || rows[1]["data"] != nil {
		t.Errorf("%+v", rows)
	}
	if text, err := json.Marshal(rows); err != nil || bytes.Contains(text, []byte("of kept")) || bytes.Contains(text, []byte(canary)) {
		t.Errorf("a secret is saved in the clear: %v", err)
	}
}

// destroyedKept is a state folder with six contents. The page of the second is destroyed, and the
// last lies in a file.
func destroyedKept(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = dbtest.StateDir(t)
	s := openStore(t, dir)
	var contents [][]byte
	for i := range byte(6) { // a page each, but for the last, which lies in a file
		c := make([]byte, 3000)
		if i == 5 {
			c = make([]byte, 400<<10)
		}
		rand.NewChaCha8([32]byte{i}).Read(c)
		contents = append(contents, c)
	}
	names = keepContents(t, s, startRun(t, s, "r-destroyk"), contents...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, db.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := hex.DecodeString(names[1])
	if err != nil {
		t.Fatal(err)
	}
	destroyed := false
	for page := 0; page < len(data); page += 4096 {
		if p := data[page : page+4096]; p[0] == 0x0d && bytes.Contains(p, id) { // a leaf of a table
			rand.NewChaCha8([32]byte{9}).Read(p)
			destroyed = true
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil || !destroyed {
		t.Fatal(destroyed, err)
	}
	return dir, names
}

// A destroyed page costs the rows on it and no more: not the first one behind it either.
func TestSalvageKeptDestroyed(t *testing.T) {
	dir, names := destroyedKept(t)
	var saved []any
	for _, row := range salvaged(t, dir)["kept"] {
		if row["id"] != nil {
			saved = append(saved, row["id"])
		}
	}
	if want := []any{names[0], names[2], names[3], names[4], names[5]}; !slices.Equal(saved, want) {
		t.Errorf("saved %q, want %q", saved, want)
	}
}

// Where not all contents can be listed, no file beside them is called left over: what names it may
// be what cannot be read.
func TestCheckKeptDestroyed(t *testing.T) {
	dir, _ := destroyedKept(t)
	r, err := Check(context.Background(), openStore(t, dir))
	if err != nil || len(r.Problems) == 0 || !strings.Contains(r.Kept.Unlisted, "damaged") {
		t.Errorf("%+v %v", r, err)
	}
	if len(r.Kept.Leftover) != 0 || r.Kept.Files < 400<<10 {
		t.Errorf("left over: %q; %d bytes", r.Kept.Leftover, r.Kept.Files)
	}
}
