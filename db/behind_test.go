package db

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	marks "agent/db/mark"
	"agent/recovery/journal"
)

// copyDatabase is what a backup of agent.db alone holds: the log was brought in before.
func copyDatabase(t *testing.T, s *Store, to string) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.file.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A5: a database that is older than the mark beside it drives nothing, however it got there; every
// commit moves the mark, and only the decision of a person ends this.
func TestBehindItsMark(t *testing.T) {
	ctx, dir := context.Background(), stateDir(t)
	old := filepath.Join(t.TempDir(), "old.db")
	s := openStore(t, dir)
	h := startRun(t, s, "r-1")
	copyDatabase(t, s, old)

	s = openStore(t, dir)
	if err := s.MayDrive(ctx); err != nil {
		t.Fatalf("a store that only went forward: %v", err)
	}
	first, _ := turnFacts(1, "c-1", "done")
	appendAll(t, s, h, first, AppendOptions{})
	copyDatabase(t, s, filepath.Join(t.TempDir(), "newer.db"))
	if err := os.Rename(old, s.file.Path()); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	var behind *BehindError
	if err := s.MayDrive(ctx); !errors.As(err, &behind) || !strings.Contains(behind.What, "run r-1 had 5 facts") {
		t.Fatalf("an older database: %v", err)
	}
	now, err := s.Head(ctx, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	// What is recorded all the same, a cancel say, must not hide it.
	if _, err := s.MarkInterrupted(ctx, now, journal.CauseCrash, "gone", s.now()); err != nil {
		t.Fatal(err)
	}
	if err := s.MayDrive(ctx); !errors.As(err, &behind) {
		t.Fatalf("after a fact: %v", err)
	}
	if r, err := OpenRead(ctx, dir); err != nil || r.Behind() == nil {
		t.Errorf("opened for reading: %v, %v", r.Behind(), err)
	} else if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := s.RestoreHere(ctx, []string{"r-1"}, journal.RunRestored{Reason: "it is behind", By: "ana"}); err != nil {
		t.Fatal(err)
	}
	if err := s.MayDrive(ctx); err != nil {
		t.Fatalf("after the decision: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if s.Behind() != nil {
		t.Errorf("opened after the decision: %v", s.Behind())
	}
	facts := loadAll(t, s, "r-1")
	if last := facts[len(facts)-1].Body; last.Kind() != journal.KindRunRestored {
		t.Errorf("the last fact is %+v", last)
	}
	if m, err := s.Mark(); err != nil || m.Decided.IsZero() || m.Run != "r-1" {
		t.Errorf("mark %+v, %v", m, err)
	}
}

// A lost log is an older database too; a mark that is lost or damaged is none, and makes no good
// store look behind.
func TestBehindWithoutLogOrMark(t *testing.T) {
	ctx, dir := context.Background(), stateDir(t)
	s := openStore(t, dir)
	startRun(t, s, "r-1")
	lost := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(lost, os.DirFS(dir)); err != nil { // as after kill -9: the facts are in the log
		t.Fatal(err)
	}
	if err := os.Chmod(lost, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(lost, FileName+"-wal")); err != nil {
		t.Fatal(err)
	}
	without := openStore(t, lost)
	if b := without.Behind(); b == nil || !strings.Contains(b.What, "run r-1") {
		t.Errorf("without its log: %v", b)
	}
	for _, content := range [][]byte{nil, {}, make([]byte, marks.Size)} {
		path := marks.Path(dir)
		var err error
		if content == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.MayDrive(ctx); err != nil {
			t.Errorf("with %d bytes of a mark: %v", len(content), err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "calls", "r-unknown"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.MayDrive(ctx); err == nil || !strings.Contains(err.Error(), "r-unknown") {
		t.Errorf("a call of a run that is not there, and no mark: %v", err)
	}
}

// Without a mark the log is the witness: a database that does not have what the log names drives
// nothing, and one that has it does. Where the database is gone as well, the log alone tells that
// there was one.
func TestBehindTheLog(t *testing.T) {
	ctx, dir := context.Background(), stateDir(t)
	s := openStore(t, dir)
	startRun(t, s, "r-1")
	if err := os.Remove(marks.Path(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, behind := range map[string]string{
		`{"time":"2026-11-22T09:00:00Z","msg":"run.claimed","run":"r-1","seq":2,"turn":0}`: "",
		`{"time":"2026-11-22T09:00:00Z","msg":"run.claimed","run":"r-1","seq":9,"turn":0}`: "names its fact 9",
		`{"time":"2026-11-22T09:00:00Z","msg":"turn","run":"r-1","turn":4}`:                "names its turn 4",
		`{"time":"2026-11-22T09:00:00Z","msg":"run.claimed","run":"r-2","seq":2,"turn":0}`: "r-2",
		`{"time":"2026-11-22T09:00:00Z","msg":"turn","run":"r-1","tu`:                      "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "log", "agent.log"), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.MayDrive(ctx)
		if behind == "" && err != nil || behind != "" && (err == nil || !strings.Contains(err.Error(), behind)) {
			t.Errorf("%s: %v", line, err)
		}
	}
	log := `{"time":"2026-11-22T09:00:00Z","msg":"turn","run":"r-3","turn":1}` + "\n"
	if err := errors.Join(s.Close(), os.Remove(s.file.Path()), os.WriteFile(filepath.Join(dir, "log", "agent.log"), []byte(log), 0o600)); err != nil {
		t.Fatal(err)
	}
	var gone *BehindError
	if err := NoState(dir); !errors.As(err, &gone) || !gone.Missing {
		t.Errorf("no database, no mark: %v", err)
	}
}

// A folder from which the database is gone is no new one.
func TestMissingDatabase(t *testing.T) {
	ctx, dir := context.Background(), stateDir(t)
	s := openStore(t, dir)
	startRun(t, s, "r-1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.file.Path()); err != nil {
		t.Fatal(err)
	}
	var behind *BehindError
	if _, err := Open(ctx, dir, Options{}); !errors.As(err, &behind) || !behind.Missing {
		t.Errorf("open: %v", err)
	}
	if _, err := os.Stat(s.file.Path()); err == nil {
		t.Error("a database was made")
	}
	if err := NoState(dir); !errors.As(err, &behind) {
		t.Errorf("look: %v", err)
	}
	s = openStore(t, dir, func(o *Options) { o.Anew = true })
	if err := s.MayDrive(ctx); err == nil {
		t.Error("a new database may drive although the mark names a run")
	}
	if err := s.RestoreHere(ctx, nil, journal.RunRestored{Reason: "it is gone", By: "ana"}); err != nil {
		t.Fatal(err)
	}
	if err := s.MayDrive(ctx); err != nil {
		t.Errorf("after the decision: %v", err)
	}
}
