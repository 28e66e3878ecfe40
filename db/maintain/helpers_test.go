package maintain

import (
	"context"
	"os"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/redact"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

const canary = "kx7Qw2-canary-9fT4zLmV0bRs"

func openStore(t testing.TB, dir string, change ...func(*db.Options)) *db.Store {
	t.Helper()
	o := db.Options{NoBallast: true}
	for _, c := range change {
		c(&o)
	}
	s, err := db.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startRun creates a run in a thread of its own and claims it.
func startRun(t testing.TB, s *db.Store, run string) db.Head {
	t.Helper()
	thread := "t-" + run[2:]
	h, err := s.Create(context.Background(), db.ThreadRef{ID: thread, Folder: "/work/" + thread, New: true}, dbtest.Started(run, thread))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func appendAll(t testing.TB, s *db.Store, h db.Head, e []journal.Event, o db.AppendOptions) db.Head {
	t.Helper()
	next, err := s.Append(context.Background(), h, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func loadAll(t testing.TB, s *db.Store, run string) []journal.Event {
	t.Helper()
	var out []journal.Event
	for e, err := range s.Load(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// ask opens a question in a run that has just started.
func ask(t *testing.T, s *db.Store, h db.Head, id string, change ...func(*journal.Request)) db.Head {
	t.Helper()
	return appendAll(t, s, h, dbtest.Events(dbtest.Question(id, change...)), db.AppendOptions{})
}

func knowing(o *db.Options) {
	o.Known = []redact.Known{{Rule: "env-canary", Value: canary}}
}

// execIn changes a database that nobody has open.
func execIn(t *testing.T, dir, text string) {
	t.Helper()
	s := openStore(t, dir)
	err := s.File().Write(context.Background(), func(t *sqlitefile.Tx) error { return t.Once(text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// whole says that every place at which a file or a row can be damaged is tried; a plain go test
// tries some of them. All of them: AGENT_TESTS=whole go test ./db/maintain
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// longAlone skips a long test in which nothing runs beside it: scripts/check race, which looks for
// races, passes -short.
func longAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and left out with -short: go test ./db/maintain")
	}
}
