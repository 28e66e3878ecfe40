package db

import (
	"testing"

	"agent/db/sqlitefile"
)

// A commit is on the disk before it is reported: the connection that writes is at synchronous FULL
// (2), whatever the list of settings that is checked at the start says.
func TestCommitsReachTheDisk(t *testing.T) {
	s := openStore(t, stateDir(t))
	startRun(t, s, "r-durable1")
	var level int
	err := s.file.Between(func(on *sqlitefile.Statements) error {
		return on.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level)
	})
	if err != nil || level != 2 {
		t.Errorf("the writer is at synchronous %d (%v)", level, err)
	}
}
