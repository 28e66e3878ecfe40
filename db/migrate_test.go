package db

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agent/recovery"
)

// firstFormat is a state folder as the first release left it: format 1, with a run that waits for an answer. The rows are
// written by today's code, which writes them as the first release did.
func firstFormat(t *testing.T) (dir string, facts []recovery.Event) {
	t.Helper()
	ctx := context.Background()
	dir = stateDir(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := newStore(dir, Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(migrations, "migrations/00001_journal.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.openKey(true); err != nil {
		t.Fatal(err)
	}
	if err := useOFDLocks(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fill(ctx, s.path, s.key, fstest.MapFS{"migrations/00001_journal.sql": {Data: text}}); err != nil {
		t.Fatal(err)
	}
	if err := s.openVault(); err != nil {
		t.Fatal(err)
	}
	s.w = newWriter(s)
	if err := s.connectReaders(ctx, dsn(s.path, false)); err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-firstrun")
	ask(t, s, h, "p-firstask")
	facts = loadAll(t, s, "r-firstrun")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, facts
}

// STORE: a state folder of an older release is brought up to date when it is opened, and loses nothing: what was recorded is
// read as before, an open question can still be answered, and whoever knows only the older format is told so.
func TestOlderFormatIsMigrated(t *testing.T) {
	ctx := context.Background()
	dir, before := firstFormat(t)
	s := openStore(t, dir)
	if diff := cmp.Diff(before, loadAll(t, s, "r-firstrun")); diff != "" {
		t.Errorf("facts changed (-before +after):\n%s", diff)
	}
	r, err := s.Check(ctx)
	if err != nil || len(r.Problems) > 0 || r.Format != knownSchema {
		t.Errorf("%+v %v", r, err)
	}
	open, err := s.Pending(ctx, false)
	if err != nil || len(open) != 1 || open[0].ID != "p-firstask" {
		t.Fatalf("%+v %v", open, err)
	}
	if _, err := s.Answer(ctx, "p-firstask", json.RawMessage(`"yes"`), "somebody"); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Answered(ctx, "r-firstrun"); err != nil || p == nil || string(p.Answer) != `"yes"` {
		t.Errorf("%+v %v", p, err)
	}
	h := startRun(t, s, "r-asksmore")
	ask(t, s, h, "p-elicited", func(r *recovery.Request) { r.Kind = recovery.RequestElicit })
}

// Nobody who only reads changes the format: it is read as it is.
func TestOlderFormatIsRead(t *testing.T) {
	dir, before := firstFormat(t)
	s, err := OpenRead(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, loadAll(t, s, "r-firstrun")); diff != "" {
		t.Errorf("facts differ (-before +after):\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
