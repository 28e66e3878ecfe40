package maintain

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
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
