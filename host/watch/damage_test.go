package watch

import (
	"database/sql"
	"errors"
	"testing"

	"agent/db"
)

// Where the journal lacks a fact that the run's row counts, an observer learns that the record is
// damaged: one who watches, and one who comes.
func TestMissingFact(t *testing.T) {
	x := newWorld(t, false)
	s := x.observe("")
	defer s.f.Close()
	s.until(func() bool { return s.seq == 3 })
	file, err := sql.Open("sqlite", x.store.Files()[0])
	if err == nil {
		_, err = file.ExecContext(t.Context(), "UPDATE runs SET last_seq = last_seq + 2")
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	var damaged *db.CorruptError
	for err == nil {
		_, err = s.f.Next(t.Context(), s.c)
	}
	if !errors.As(err, &damaged) || damaged.Run != "r-1" || damaged.Seq != 4 {
		t.Errorf("who watches: %v", err)
	}
	if _, err := x.w.Run(t.Context(), "r-1"); !errors.As(err, &damaged) || damaged.Seq != 5 {
		t.Errorf("who comes: %v", err)
	}
	if _, err := Here(t.Context(), x.store, "r-1"); !errors.As(err, &damaged) {
		t.Errorf("who asks for the end: %v", err)
	}
}
