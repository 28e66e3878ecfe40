package maintain

import (
	"context"
	"path/filepath"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// The index of words is compared, and made anew where it is damaged, or a part of it is lost. It is
// found beside no other damage: all of it can be made again.
func TestIndexOfWordsIsMadeAnew(t *testing.T) {
	for name, c := range map[string]struct{ damage, what string }{
		"its structure":        {"UPDATE search_data SET block = x'ffffffffffff' WHERE id = 10", "index search is damaged: "},
		"its texts":            {"UPDATE search_data SET block = x'00ff' WHERE id > 100", "index search is damaged: "},
		"a table of it":        {"DROP TABLE search_docsize", "index search is not whole: table search_docsize is missing"},
		"all of it":            {"DROP TABLE search", "index search is not whole: table search is missing"},
		"nothing that is seen": {"DELETE FROM search WHERE rowid = 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			dir := dbtest.StateDir(t)
			s := openStore(t, dir)
			appendAll(t, s, startRun(t, s, "r-words123"), dbtest.InTurn(1, journal.RunCompleted{Text: "done"}), db.AppendOptions{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			dbtest.Raw(t, filepath.Join(dir, db.FileName), c.damage)
			s = openStore(t, dir)
			if r, err := Check(ctx, s); err != nil || len(r.Problems) > 0 {
				t.Errorf("%v, %v", r.Problems, err)
			}
			list, err := SchemaDifferences(ctx, s)
			switch {
			case err != nil:
				t.Fatal(err)
			case c.what == "" && len(list) == 0:
				return
			case len(list) != 1 || !list[0].Repairable() || len(list[0].String()) < len(c.what) || list[0].String()[:len(c.what)] != c.what:
				t.Fatalf("%v", list)
			}
			if fixed, err := RepairSchema(ctx, s); err != nil || len(fixed) != 1 {
				t.Fatal(fixed, err)
			}
			if list, err := SchemaDifferences(ctx, s); err != nil || len(list) > 0 {
				t.Fatal(list, err)
			}
			if err := db.AddWords(ctx, s, []int64{1}); err != nil {
				t.Fatal(err)
			}
			if rows, err := sqlitefile.Records(ctx, s.File().Readers(), "SELECT rowid FROM search WHERE search MATCH 'done'"); err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
		})
	}
}

// A name is proved by the journal, as every column is.
func TestNameIsRepaired(t *testing.T) {
	ctx, s := context.Background(), openStore(t, dbtest.StateDir(t))
	facts := dbtest.Started("r-named123", "t-named123")
	c := facts[0].Body.(journal.RunCreated)
	c.Name = "nightly"
	facts[0].Body = c
	if _, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, facts); err != nil {
		t.Fatal(err)
	}
	if list, err := Differences(ctx, s); err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	if err := spoil(t, s, "UPDATE runs SET name = 'other'"); err != nil {
		t.Fatal(err)
	}
	if list, err := Differences(ctx, s); err != nil || len(list) != 1 || list[0].What != `name is "other" in the row and "nightly" in the journal` {
		t.Fatal(list, err)
	}
	repairAll(t, s)
	if row, err := s.Run(ctx, "r-named123"); err != nil || row.Name != "nightly" {
		t.Error(row.Name, err)
	}
}
