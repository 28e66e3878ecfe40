package command_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"modernc.org/sqlite"

	"agent/db"
	"agent/host"
	"agent/recovery/journal"
	"agent/tools/process"
)

// A process that is stopped in the middle of a commit keeps nobody from seeing which runs lost
// their owner; the mark is written once it can be.
func TestLookWhileTheDatabaseIsLocked(t *testing.T) {
	ctx := t.Context()
	home := filepath.Join(t.TempDir(), "state")
	store, err := db.Open(ctx, home, db.Options{NoBallast: true, BusyWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &host.Host{Process: host.Process{Store: store, Home: home, Now: time.Now, Self: process.Self()}}
	for _, name := range []string{"aaaa0000", "bbbb0000"} {
		created := journal.RunCreated{Run: "r-" + name, Thread: "t-" + name, Folder: "/w", Model: "m", Mode: journal.ModeAsk, Limits: journal.Limits{MaxTurns: 9}}
		facts := []journal.Event{{Body: created, Time: time.Now()}, {Body: journal.RunClaimed{Epoch: 1, PID: 7}, Time: time.Now()}}
		if _, err := store.Create(ctx, db.ThreadRef{ID: created.Thread, Folder: "/w", New: true}, facts); err != nil {
			t.Fatal(err)
		}
	}

	unlock := inTransaction(t, filepath.Join(home, "agent.db"))
	if marks, err := h.Reconcile(ctx, true); err != nil || len(marks) != 2 || marks[0].Kept || marks[1].Kept {
		t.Errorf("while it is locked: %+v, %v", marks, err)
	}
	unlock()
	if marks, err := h.Reconcile(ctx, true); err != nil || len(marks) != 2 || !marks[0].Kept || !marks[1].Kept {
		t.Errorf("after that: %+v, %v", marks, err)
	}
	if marks, err := h.Reconcile(ctx, true); err != nil || len(marks) != 0 {
		t.Errorf("once they are marked: %+v, %v", marks, err)
	}
}

// inTransaction keeps the database locked for writing, as another process does, until the function
// that it returns is called.
func inTransaction(t *testing.T, path string) (unlock func()) {
	t.Helper()
	pool := connection(t, path)
	if _, err := pool.ExecContext(context.WithoutCancel(t.Context()), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := pool.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}

// cutLog brings the log into the database and leaves none: what is written next takes room of the
// disk.
func cutLog(t *testing.T, path string) {
	t.Helper()
	pool := connection(t, path)
	if _, err := pool.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}

// connection is one connection to the database.
func connection(t *testing.T, path string) *sql.DB {
	t.Helper()
	if _, err := sqlite.OFDLocking(true); err != nil && !sqlite.OFDLockingEnabled() { // as agent's own connections
		t.Fatal(err)
	}
	c, err := sqlite.NewConnector("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(1)
	return pool
}
