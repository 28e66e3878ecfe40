package db

import (
	"context"
	"flag"
	"os"
	"strconv"
	"testing"

	"agent/db/dbtest"
	"agent/recovery/journal"
)

// Short names for what nearly every test here writes.
func stateDir(t testing.TB) string                            { return dbtest.StateDir(t) }
func createdFact(run, thread string) journal.RunCreated       { return dbtest.Created(run, thread) }
func events(bodies ...journal.Body) []journal.Event           { return dbtest.Events(bodies...) }
func inTurn(n int, bodies ...journal.Body) []journal.Event    { return dbtest.InTurn(n, bodies...) }
func call(id string, args string) journal.Proposal            { return dbtest.Call(id, args) }
func turnFacts(n int, id, text string) (a, b []journal.Event) { return dbtest.Turn(n, id, text) }

func openStore(t testing.TB, dir string, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{NoBallast: true}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(context.Background(), dir, o)
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

// envRounds is by how much the tests that repeat what is left to chance repeat it more often, for a
// run that may take its time: AGENT_DB_TEST_ROUNDS=10 go test ./db. One round more is one chance
// more; what a round checks is the same.
const envRounds = "AGENT_DB_TEST_ROUNDS"

func rounds(t *testing.T, n int) int {
	t.Helper()
	text := os.Getenv(envRounds)
	if text == "" {
		return n
	}
	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		t.Fatalf("%s=%s is no number of times", envRounds, text)
	}
	return n * times
}

// checks has rapid draw so many examples, unless the command line says how many.
func checks(t *testing.T, n int) {
	t.Helper()
	const name = "rapid.checks"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, strconv.Itoa(rounds(t, n))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(name, before); err != nil {
			t.Error(err)
		}
	})
}

// startRun creates a run in a thread of its own and claims it.
func startRun(t testing.TB, s *Store, run string) Head {
	t.Helper()
	thread := "t-" + run[2:]
	h, err := s.Create(context.Background(), ThreadRef{ID: thread, Folder: "/work/" + thread, New: true}, dbtest.Started(run, thread))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func appendAll(t testing.TB, s *Store, h Head, e []journal.Event, o AppendOptions) Head {
	t.Helper()
	next, err := s.Append(context.Background(), h, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func loadAll(t testing.TB, s *Store, run string) []journal.Event {
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

func fileSize(tb testing.TB, path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

// sizeOf is a file's size; 0 when it is not there.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
