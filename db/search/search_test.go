package search_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/search"
	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

func open(t *testing.T, dir string, now func() time.Time) *db.Store {
	t.Helper()
	s, err := db.Open(context.Background(), dir, db.Options{NoBallast: true, Now: now})
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

// said is a run of a prompt that ends so; nil: it has not ended.
type said struct {
	run, prompt string
	name        string
	told        string // by a person, meanwhile
	parent      string
	end         journal.Body
}

func record(t *testing.T, s *db.Store, list ...said) {
	t.Helper()
	ctx := context.Background()
	for _, r := range list {
		facts := dbtest.Child(r.run, "t-"+r.run[2:], nil)
		c := facts[0].Body.(journal.RunCreated)
		c.Prompt, c.Name, c.Folder = r.prompt, r.name, "/work"
		if r.parent != "" {
			c.Parent, c.Root, c.RootThread = r.parent, r.parent, "t-"+r.parent[2:]
		}
		facts[0].Body = c
		h, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, facts)
		if err != nil {
			t.Fatal(err)
		}
		var more []journal.Event
		if r.told != "" {
			more = dbtest.InTurn(1, journal.MessageAdded{Text: r.told, By: "ada"}, journal.MessageAdded{Text: "unasked", By: "agent"})
		}
		if r.end != nil {
			more = append(more, dbtest.InTurn(1, r.end)...)
		}
		if _, err := s.Append(ctx, h, more, db.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func found(t *testing.T, s *db.Store, f search.Filter) string {
	t.Helper()
	rows, _, err := search.Runs(context.Background(), s, f)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID[2:3])
	}
	return strings.Join(ids, "")
}

func several() []said {
	return []said{
		{run: "r-aaaaaaaa", prompt: "Deploy the café to production", end: journal.RunCompleted{Text: "It is deployed; the tests are green."}},
		{run: "r-bbbbbbbb", prompt: "fix the tests", name: "fixing", told: "only those of the parser", end: journal.RunFailed{Reason: "rate limit", Text: "I could not."}},
		{run: "r-cccccccc", prompt: "look around", name: "fix it", end: journal.RunCancelled{Reason: "not now"}},
		{run: "r-dddddddd", prompt: "tests that go on"},
		{run: "r-eeeeeeee", prompt: "tests of a child", parent: "r-aaaaaaaa", end: journal.RunCompleted{Text: "tests"}},
		{run: "r-ffffffff", prompt: "the key is ghp_16C7e42F292c6912E7710c838347Ae178B4a", end: journal.RunCompleted{Text: `a "quoted" thing: NEAR(x) OR col:y*`}},
	}
}

// All words occur, the last one may go on, phrases are in double quotes, and nothing that is typed
// is anything but words.
func TestWords(t *testing.T) {
	s := open(t, dbtest.StateDir(t), nil)
	record(t, s, several()...)
	if rows, err := sqlitefile.Records(context.Background(), s.File().Readers(), "SELECT id FROM search_docsize"); err != nil || len(rows) != 4 {
		t.Errorf("%d of 4 roots that have ended are in the index, %v", len(rows), err)
	}
	for words, want := range map[string]string{
		"tests":                       "ba",
		"TESTS green":                 "a",
		"green tests":                 "a",
		`"tests are green"`:           "a",
		`"green tests"`:               "",
		"test":                        "ba",
		"test green":                  "",
		`"test"`:                      "",
		"cafe prod":                   "a",
		"parser":                      "b",
		"unasked":                     "",
		"rate could":                  "b",
		"now":                         "c",
		"child":                       "",
		"NEAR(x":                      "f",
		"col:y*":                      "f",
		`a OR "quoted" - thing -`:     "f",
		`"quoted thing`:               "f",
		"prompt:fix":                  "",
		"^fix":                        "b",
		"*":                           "error",
		" - ":                         "error",
		strings.Repeat("tests ", 33):  "error",
		strings.Repeat("tests ", 32):  "ba",
		strings.Repeat(`"`, 33) + "x": "error",
	} {
		if want == "error" || strings.Contains(words, `""`) {
			_, _, err := search.Runs(context.Background(), s, search.Filter{Words: words})
			if want == "error" && (err == nil || errors.Is(err, search.ErrDamaged)) && !strings.Contains(words, `""`) {
				t.Errorf("%q: %v", words, err)
			}
			continue
		}
		if got := found(t, s, search.Filter{Words: words}); got != want {
			t.Errorf("%q finds %q and not %q", words, got, want)
		}
	}
}

// No text makes an expression that SQLite refuses.
func FuzzExpression(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "state")
	s, err := db.Open(context.Background(), dir, db.Options{NoBallast: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	for _, text := range []string{`a"b`, `""`, "NOT a", "a AND", "(", "a:b", "{a b}:c", "^a", "a + b", "\x00", "é\xff", "\"a\x00b", "a*", "NEAR(a b, 2)", "١", "\ue000", "𝟙"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := search.Expression(text); err != nil {
			return
		}
		if _, _, err := search.Runs(context.Background(), s, search.Filter{Words: text}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// What is stored is what can be found: a secret is not, and its placeholder is found by it.
func TestSecretIsNotInTheIndex(t *testing.T) {
	s := open(t, dbtest.StateDir(t), nil)
	record(t, s, several()...)
	if got := found(t, s, search.Filter{Words: "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}); got != "f" {
		t.Errorf("the placeholder of a secret is found in %q", got)
	}
	terms, err := sqlitefile.Records(context.Background(), s.File().Readers(), "SELECT hex(block) AS block FROM search_data")
	if err != nil || len(terms) == 0 {
		t.Fatal(terms, err)
	}
	if strings.Contains(strings.ToLower(fmt.Sprint(terms)), strings.ToLower("31366337653432")) { // 16c7e42
		t.Error("the index has a secret")
	}
}

// Filters combine, with the words and without.
func TestFilters(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, dbtest.StateDir(t), func() time.Time { now = now.Add(time.Minute); return now })
	record(t, s, several()...)
	whole := []recovery.Status{recovery.StatusCompleted, recovery.StatusFailed}
	rows, _, err := search.Runs(context.Background(), s, search.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	since := rows[slices.IndexFunc(rows, func(r db.RunRow) bool { return r.ID == "r-bbbbbbbb" })].Created
	for want, f := range map[string]search.Filter{
		"fdcba": {},
		"fba":   {Statuses: whole},
		"d":     {Unended: true},
		"dc":    {Unended: true, Statuses: []recovery.Status{recovery.StatusCancelled}},
		"ba":    {Words: "tests", Statuses: whole},
		"b":     {Words: "tests", Since: since},
		"fdcb":  {Since: since},
		"c":     {Name: "fix it"},
		"cb":    {Name: "fix*"},
		"":      {Folder: "/elsewhere"},
		"fd":    {Folder: "/work", Limit: 2},
	} {
		if got := found(t, s, f); got != want {
			t.Errorf("%+v finds %q and not %q", f, got, want)
		}
	}
	if rows, all, err := search.Runs(context.Background(), s, search.Filter{Words: "the", Limit: 1}); err != nil || len(rows) != 1 || all != 3 {
		t.Errorf("%d of %d, %v", len(rows), all, err)
	}
}

// Runs that ended before there was an index are taken into it, and twice is as once.
func TestTakeIn(t *testing.T) {
	ctx := context.Background()
	s := open(t, dbtest.StateDir(t), nil)
	for i := range 40 {
		record(t, s, said{run: "r-zzzzzz" + string(rune('a'+i/20)) + string(rune('a'+i%20)), prompt: "one of many", end: journal.RunCompleted{Text: "done"}})
	}
	record(t, s, several()...)
	if n, err := search.Missing(ctx, s); err != nil || n != 0 {
		t.Fatal(n, err)
	}
	if err := s.File().Write(ctx, func(tx *sqlitefile.Tx) error { return tx.Once("DELETE FROM search WHERE rowid > 2") }); err != nil {
		t.Fatal(err)
	}
	if n, err := search.Missing(ctx, s); err != nil || n != 42 {
		t.Fatal(n, err)
	}
	for range 2 {
		var steps []int
		if err := search.TakeIn(ctx, s, func(done, all int) { steps = append(steps, done, all) }); err != nil {
			t.Fatal(err)
		}
		if n, err := search.Missing(ctx, s); err != nil || n != 0 || len(steps) != 0 && !slices.Equal(steps, []int{32, 42, 42, 42}) {
			t.Fatal(n, err, steps)
		}
	}
	if _, all, err := search.Runs(ctx, s, search.Filter{Words: "many", Limit: 1}); err != nil || all != 40 {
		t.Error(all, err)
	}
	if got := found(t, s, search.Filter{Words: "tests"}); got != "ba" {
		t.Error(got)
	}
}

// A damaged index keeps no run from ending: it is reported by whoever searches.
func TestDamagedIndex(t *testing.T) {
	for name, damage := range map[string]string{
		"its structure is damaged": "UPDATE search_data SET block = x'ffffffffffff' WHERE id = 10",
		"all of it is damaged":     "UPDATE search_data SET block = x'00ff'",
		"a table of it is gone":    "DROP TABLE search_docsize",
		"its settings are gone":    "DROP TABLE search_config",
		"its texts are damaged":    "UPDATE search_data SET block = x'00ff' WHERE id > 100",
		"it is not there":          "DROP TABLE search",
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			dir := dbtest.StateDir(t)
			s := open(t, dir, nil)
			record(t, s, several()...)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			dbtest.Raw(t, filepath.Join(dir, db.FileName), damage)
			s = open(t, dir, nil)
			for _, run := range []string{"r-gggggggg", "r-hhhhhhhh"} {
				record(t, s, said{run: run, prompt: "it ends", end: journal.RunCompleted{Text: "done"}})
				if row, err := s.Run(ctx, run); err != nil || row.Status != recovery.StatusCompleted {
					t.Fatal(row.Status, err)
				}
			}
			_, _, err := search.Runs(ctx, s, search.Filter{Words: "ends"})
			if takeIn := search.TakeIn(ctx, s, func(int, int) {}); !errors.Is(err, search.ErrDamaged) && !errors.Is(takeIn, search.ErrDamaged) {
				t.Errorf("a search says %v, and taking in %v", err, takeIn)
			}
		})
	}
}
