package find_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/find"
	"agent/recovery/journal"
)

// What is newest was made last, wherever the clock stood then.
func TestFindLastByAClockThatWasSet(t *testing.T) {
	now := time.Date(2036, 11, 20, 12, 0, 0, 0, time.UTC)
	s := openStore(t, dbtest.StateDir(t), func(o *db.Options) { o.Now = func() time.Time { return now } })
	for _, run := range []string{"r-7k2m9qx4", "r-abcdefgh"} {
		a, _ := dbtest.Turn(1, "c-"+run[2:6]+"call", "")
		ask(t, s, appendAll(t, s, startRun(t, s, run), a, db.AppendOptions{}), "p-"+run[2:])
		now = now.AddDate(-10, 0, 0)
	}
	for kind, want := range map[byte]string{'r': "r-abcdefgh", 't': "t-abcdefgh", 'c': "c-abcdcall", 'p': "p-abcdefgh"} {
		if id, err := find.ID(context.Background(), s, kind, "last"); err != nil || id != want {
			t.Errorf("the last %c is %s and not %s (%v)", kind, id, want, err)
		}
	}
}

// Behaviour 10: a whole id, the beginning of one with or without its type, and "last"; what fits
// nothing or several lists candidates.
func TestFind(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, dbtest.StateDir(t))
	for _, run := range []string{"r-7k2m9qx4", "r-7k9999zz", "r-abcdefgh"} {
		h := startRun(t, s, run)
		a, _ := dbtest.Turn(1, "c-"+run[2:6]+"call", "")
		h = appendAll(t, s, h, a, db.AppendOptions{})
		if run == "r-abcdefgh" {
			appendAll(t, s, h, dbtest.Events(journal.RequestOpened{Request: journal.Request{ID: "p-question", Question: journal.Question{Kind: journal.RequestAskUser}}}), db.AppendOptions{})
		}
	}
	for _, c := range []struct {
		kind       byte
		text, want string
	}{
		{'r', "r-7k2m9qx4", "r-7k2m9qx4"}, {'r', "7k2", "r-7k2m9qx4"}, {'r', "r-a", "r-abcdefgh"}, {'r', "last", "r-abcdefgh"},
		{'r', "R-7K2", "r-7k2m9qx4"}, {0, "r-7k2", "r-7k2m9qx4"}, {0, "last", "r-abcdefgh"}, {'p', "last", "p-question"},
		{0, "quest", "p-question"}, {'c', "c-7k2", "c-7k2mcall"}, {'c', "abcd", "c-abcdcall"}, {'t', "7k9", "t-7k9999zz"}, {'c', "last", "c-abcdcall"},
	} {
		if id, err := find.ID(ctx, s, c.kind, c.text); err != nil || id != c.want {
			t.Errorf("%c %s is %s and not %s (%v)", c.kind, c.text, id, c.want, err)
		}
	}
	var several *db.AmbiguousError
	_, err := find.ID(ctx, s, 'r', "7k")
	if !errors.As(err, &several) || len(several.Candidates) != 2 || !strings.Contains(several.Candidates[0], "do the work of r-7k2m9qx4") {
		t.Errorf("%v", err)
	}
	if _, err = find.ID(ctx, s, 0, "abcd"); !errors.As(err, &several) || len(several.Candidates) != 3 { // run, call, thread
		t.Errorf("%v", err)
	}
	var unknown *db.UnknownIDError
	if _, err = find.ID(ctx, s, 'r', "r-7k3m"); !errors.As(err, &unknown) || len(unknown.Near) == 0 || !strings.HasPrefix(unknown.Near[0], "r-7k2m9qx4") {
		t.Errorf("%v", err)
	}
	for _, text := range []string{"", "p-7k2", "zzzz", "%", "'", "r-7k2m9qx4x"} {
		if id, err := find.ID(ctx, s, 'r', text); !errors.As(err, &unknown) {
			t.Errorf("%q is %s (%v)", text, id, err)
		}
	}
	for text, want := range map[string]string{
		"t-7k2": "t-7k2 is a thread; name a run:\n  r-7k2m9qx4  running,",
		"C-7K2": "c-7k2 is a call; name a run:\n  c-7k2mcall  ",
		"p-q":   "p-q is a pending request; name a run:\n  p-question  open, ask_user of run r-abcdefgh",
	} {
		if _, err := find.ID(ctx, s, 'r', text); !errors.As(err, &unknown) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := find.ID(ctx, s, 't', "r-abc"); err == nil || err.Error() != "r-abc is a run; name a thread:\n  t-abcdefgh  of run r-abcdefgh" {
		t.Errorf("%v", err)
	}
	if _, err := find.ID(ctx, s, 'r', "r-"); !errors.As(err, &several) || len(several.Candidates) != 3 {
		t.Errorf("%v", err)
	}
	if _, err := find.ID(ctx, s, 'p', "p-7k2"); err == nil || err.Error() != "no pending request is called \"p-7k2\"; there is:\n  p-question  open, ask_user of run r-abcdefgh" {
		t.Errorf("%v", err)
	}
	if _, err := s.Run(ctx, "r-7k"); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

func openStore(t *testing.T, dir string, change ...func(*db.Options)) *db.Store {
	t.Helper()
	o := db.Options{NoBallast: true}
	for _, c := range change {
		c(&o)
	}
	s, err := db.Open(t.Context(), dir, o)
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
func startRun(t *testing.T, s *db.Store, run string) db.Head {
	t.Helper()
	thread := "t-" + run[2:]
	h, err := s.Create(t.Context(), db.ThreadRef{ID: thread, Folder: "/work/" + thread, New: true}, dbtest.Started(run, thread))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func appendAll(t *testing.T, s *db.Store, h db.Head, e []journal.Event, o db.AppendOptions) db.Head {
	t.Helper()
	next, err := s.Append(t.Context(), h, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func ask(t *testing.T, s *db.Store, h db.Head, id string) db.Head {
	t.Helper()
	return appendAll(t, s, h, dbtest.Events(dbtest.Question(id)), db.AppendOptions{})
}

// A run is found by its name: the newest that has it. What is an id, or the beginning of one, is
// not taken for a name, and what is both names both.
func TestFindByName(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, dbtest.StateDir(t))
	for run, name := range map[string]string{"r-7k2m9qx4": "nightly", "r-abcdefgh": "7k2"} {
		create(t, s, run, name)
	}
	create(t, s, "r-mmmmmmmm", "nightly")
	for text, want := range map[string]string{"nightly": "r-mmmmmmmm", " nightly ": "r-mmmmmmmm", "r-7k2": "r-7k2m9qx4", "r-mmm": "r-mmmmmmmm"} {
		for _, kind := range []byte{'r', 0} {
			if id, err := find.ID(ctx, s, kind, text); err != nil || id != want {
				t.Errorf("%q of kind %d is %s and not %s (%v)", text, kind, id, want, err)
			}
		}
	}
	var several *db.AmbiguousError
	if _, err := find.ID(ctx, s, 'r', "7k2"); !errors.As(err, &several) || len(several.Candidates) != 2 {
		t.Errorf("what is a name and the beginning of an id: %v", err)
	}
	for _, kind := range []byte{'t', 'p', 'c'} {
		if id, err := find.ID(ctx, s, kind, "nightly"); err == nil {
			t.Errorf("the name of a run is the %c %s", kind, id)
		}
	}
	if id, err := find.ID(ctx, s, 'r', "Nightly"); err == nil {
		t.Errorf("another name is run %s", id)
	}
}

func create(t *testing.T, s *db.Store, run, name string) {
	t.Helper()
	facts := dbtest.Started(run, "t-"+run[2:])
	c := facts[0].Body.(journal.RunCreated)
	c.Name = name
	facts[0].Body = c
	if _, err := s.Create(context.Background(), db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, facts); err != nil {
		t.Fatal(err)
	}
}
