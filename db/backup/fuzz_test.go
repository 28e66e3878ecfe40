package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/dbtest"
)

// Whatever stands in a file whose hash is right: it is refused or unpacked, and nothing is written
// outside of the folder.
func FuzzUnpack(f *testing.F) {
	dir := f.TempDir()
	small := filepath.Join(dir, "backup")
	if err := made(filepath.Join(dir, "state"), small); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:len(whole)-backup.FootSize], []byte("beside"))
	f.Add([]byte("SQLite format 3\x00"), []byte{})
	f.Fuzz(func(t *testing.T, database, files []byte) {
		dir := t.TempDir()
		file, state := filepath.Join(dir, "backup"), filepath.Join(dir, "state")
		if err := os.WriteFile(file, backup.SealForTest(database, files), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(state, 0o700); err != nil {
			t.Fatal(err)
		}
		_, _ = backup.Unpack(t.Context(), file, state, nil) // either is right
		if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
			t.Errorf("beside the folder lie %v, %v", list, err)
		}
	})
}

// made makes a backup of a store with one run.
func made(state, file string) (err error) {
	s, err := db.Open(context.Background(), state, db.Options{NoBallast: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Create(context.Background(), db.ThreadRef{ID: "t-1", Folder: "/w", New: true}, dbtest.Started("r-1", "t-1")); err != nil {
		return err
	}
	_, _, err = backup.Make(context.Background(), s, file, backup.Options{Now: time.Now()})
	return err
}
