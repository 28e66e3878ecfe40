package maintain

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

// dump is every row of the tables that are written from the journal.
func dump(t *testing.T, s *db.Store) map[string][]sqlitefile.Record {
	t.Helper()
	out := map[string][]sqlitefile.Record{}
	for _, p := range projectedTables() {
		rows, err := sqlitefile.Records(context.Background(), s.File().Readers(), "SELECT * FROM "+p.table+" ORDER BY "+rowKey(p.table))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r["closed_at"] != nil {
				r["closed_at"] = "some time" // when a person answered: no journal says so
			}
		}
		out[p.table] = rows
	}
	return out
}

// rowKey is the column by which a test finds a row.
func rowKey(table string) string {
	if table == "threads" {
		return "id"
	}
	return "no"
}

// spoil changes the tables behind the store's back.
func spoil(t *testing.T, s *db.Store, text string, args ...any) error {
	t.Helper()
	return s.File().Between(func(on *sqlitefile.Statements) error {
		if err := on.Once("PRAGMA foreign_keys = OFF"); err != nil {
			return err
		}
		err := on.Once(text, args...)
		if on := on.Once("PRAGMA foreign_keys = ON"); on != nil {
			return on
		}
		return err
	})
}

func repairAll(t *testing.T, s *db.Store) {
	t.Helper()
	ctx := context.Background()
	list, err := Differences(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var nos []int64
	for _, d := range list {
		if !slices.Contains(nos, d.No) {
			nos = append(nos, d.No)
		}
	}
	if _, err := Repair(ctx, s, nos); err != nil {
		t.Fatal(err)
	}
}

// stored makes a store with runs that wait, go on, ended, and left a call unknown, whose facts
// interleave.
func stored(t *testing.T) *db.Store {
	t.Helper()
	s := openStore(t, dbtest.StateDir(t))
	one, two := startRun(t, s, "r-1"), startRun(t, s, "r-2")
	a, b := dbtest.Turn(1, "c-1", "done")
	one = foldAll(t, s, one, a)
	two = foldAll(t, s, two, dbtest.InTurn(1, journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
		dbtest.Call("c-2", `{"command":"a"}`), dbtest.Call("c-3", `{"command":"b"}`)}}))
	one = foldAll(t, s, one, b)
	at := journal.Place{Turn: 1}
	two = foldAll(t, s, two, dbtest.InTurn(1, journal.RequestOpened{Request: journal.Request{
		ID: "p-1", Question: journal.Question{Kind: journal.RequestPermission, Message: "go?"}, Call: &at, Binding: "b"}}))
	if _, err := s.Answer(context.Background(), "p-1", []byte(`"yes"`), "ana"); err != nil {
		t.Fatal(err)
	}
	two = foldAll(t, s, two, dbtest.InTurn(1, journal.RequestAnswered{ID: "p-1", Answer: []byte(`"yes"`), By: "ana"},
		journal.CallStarted{Place: journal.Place{Turn: 1, Attempt: 1}, Binding: "b"}))
	unknown := journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold, Content: "lost"}
	fp := dbtest.Call("c-2", `{"command":"a"}`).Fingerprint
	two = foldAll(t, s, two, dbtest.InTurn(1, journal.CallSettled{Place: journal.Place{Turn: 1, Attempt: 1}, Fingerprint: fp, Result: unknown}))
	second := journal.Place{Turn: 1, Index: 1}
	foldAll(t, s, two, dbtest.InTurn(1, journal.RequestOpened{Request: journal.Request{
		ID: "p-2", Question: journal.Question{Kind: journal.RequestPermission, Message: "and now?"}, Call: &second, Binding: "b"}}))
	three := startRun(t, s, "r-3")
	three = foldAll(t, s, three, dbtest.InTurn(1, journal.ModelAnswered{Stop: journal.AnswerEnd}))
	made := journal.NewFileChange("a", journal.ProofHost, nil, &journal.FileVersion{Mode: 0o644, Size: 3, Kept: "f1"})
	three = foldAll(t, s, three, dbtest.InTurn(1, journal.FilesChanged{Look: 1, Changes: []journal.FileChange{made}}, journal.TurnSettled{Checkpoint: "r-3@1"}, journal.RunCompleted{Text: "done"}))
	foldAll(t, s, three, dbtest.InTurn(1, journal.CommitSeen{Checkpoint: "k-1", Repo: "/w/.git", Commit: "93ff3ee", Tree: "4b825dc", Patch: "77b0"}))
	foldAll(t, s, one, dbtest.InTurn(2, journal.RunInterrupted{Cause: journal.CauseShutdown, Detail: "asked to stop"}))
	return s
}

// foldAll appends with the fold, as a driver does.
func foldAll(t *testing.T, s *db.Store, h db.Head, e []journal.Event) db.Head {
	t.Helper()
	st := &recovery.State{}
	for _, old := range loadAll(t, s, h.Run) {
		if err := st.Apply(old); err != nil {
			t.Fatal(err)
		}
	}
	for i := range e {
		e[i].Seq, e[i].Time = h.Seq+int64(i)+1, time.Now().UTC().Truncate(time.Microsecond)
		if err := st.Apply(e[i]); err != nil {
			t.Fatal(err)
		}
	}
	return appendAll(t, s, h, e, db.AppendOptions{State: st})
}

// A6: whatever is lost or changed in a table that is written from the journal, each row and each
// column, is found and made again as it was.
func TestEveryProjectedRowAndColumn(t *testing.T) {
	longAlone(t)
	ctx, s := context.Background(), stored(t)
	if list, err := Differences(ctx, s); err != nil || len(list) > 0 {
		t.Fatalf("an untouched store: %v, %v", list, err)
	}
	want, tried := dump(t, s), 0
	values, least := []any{nil, "other", int64(2)}, 150
	if !whole() {
		values, least = values[1:2], 50
	}
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			if strings.Contains(err.Error(), "constraint") {
				return // the schema keeps this from happening
			}
			t.Fatalf("%s: %v", what, err)
		}
		if reflect.DeepEqual(want, dump(t, s)) {
			return // it was so before
		}
		tried++
		if list, err := Differences(ctx, s); err != nil || len(list) == 0 {
			t.Errorf("%s: not found (%v)", what, err)
		}
		repairAll(t, s)
		if got := dump(t, s); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: repaired to\n%v\nwant\n%v", what, got, want)
		}
	}
	for _, p := range projectedTables() {
		for i, row := range want[p.table] {
			id, where := fmt.Sprintf("%s row %d", p.table, i+1), rowKey(p.table)+" = ?"
			key := row[rowKey(p.table)]
			check("delete "+id, spoil(t, s, "DELETE FROM "+p.table+" WHERE "+where, key))
			for _, c := range row.Columns() {
				if c == "no" || p.table == "pending_requests" && c == "closed_at" {
					continue // a number of its own, which no journal gives; when a person answered
				}
				for _, v := range values {
					check(fmt.Sprintf("%s.%s = %v", id, c, v), spoil(t, s, fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", p.table, c, where), v, key))
				}
			}
		}
		check("delete all of "+p.table, spoil(t, s, "DELETE FROM "+p.table))
	}
	if tried < least {
		t.Errorf("only %d changes were tried", tried)
	}
}

// An answer that nobody took yet stands in its row alone: it is no difference, and a repair keeps
// it.
func TestRepairKeepsAnswers(t *testing.T) {
	ctx, s := context.Background(), stored(t)
	if _, err := s.Answer(ctx, "p-2", []byte(`"yes"`), "ana"); err != nil {
		t.Fatal(err)
	}
	want := dump(t, s)
	if list, err := Differences(ctx, s); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if err := spoil(t, s, "UPDATE runs SET turns = 9 WHERE id = 'r-2'"); err != nil {
		t.Fatal(err)
	}
	repairAll(t, s)
	if got := dump(t, s); !reflect.DeepEqual(want, got) {
		t.Errorf("repaired to\n%v\nwant\n%v", got, want)
	}
}

// The row of a thread comes from its first run: repairing a later one alone, as every cancel does,
// leaves it as it is, makes it again where it is lost, and says nothing of it where the first run
// cannot be read.
func TestRepairOfALaterRun(t *testing.T) {
	ctx, s := context.Background(), stored(t)
	later := dbtest.Created("r-4", "t-3")
	later.Previous = "r-3"
	h, err := s.Create(ctx, db.ThreadRef{ID: "t-3", Folder: "/work/t-3"}, dbtest.Events(later, journal.RunClaimed{Epoch: 1, PID: 42, Boot: "boot", Host: "host"}))
	if err != nil {
		t.Fatal(err)
	}
	want := dump(t, s)
	repair := func() {
		t.Helper()
		if _, err := Repair(ctx, s, []int64{h.No}); err != nil {
			t.Fatal(err)
		}
		if got := dump(t, s); !reflect.DeepEqual(want, got) {
			t.Fatalf("repaired to\n%v\nwant\n%v", got, want)
		}
	}
	repair()
	if err := spoil(t, s, "DELETE FROM threads WHERE id = 't-3'"); err != nil {
		t.Fatal(err)
	}
	repair()
	if err := spoil(t, s, "UPDATE journal SET digest = zeroblob(32) WHERE kind = 'run.created' AND id >> 24 = (SELECT no FROM runs WHERE id = 'r-3')"); err != nil {
		t.Fatal(err)
	}
	if list, err := Differences(ctx, s); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	repair()
}

// A6: every table, index and view is compared with what the migrations make, and made again.
func TestEverySchemaObject(t *testing.T) {
	longAlone(t)
	ctx, s := context.Background(), stored(t)
	want := dump(t, s)
	objects, err := sqlitefile.Records(ctx, s.File().Readers(), "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'")
	if err != nil || len(objects) < 15 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	for _, o := range objects {
		kind, name := o["type"].(string), o["name"].(string)
		if kind == "table" && !slices.ContainsFunc(projectedTables(), func(p projected) bool { return p.table == name }) || name == "runs" {
			continue // what no journal proves cannot be made again, and without runs nothing is opened
		}
		if err := spoil(t, s, fmt.Sprintf("DROP %s %s", strings.ToUpper(kind), name)); err != nil {
			t.Fatal(err)
		}
		list, err := SchemaDifferences(ctx, s)
		if err != nil || !slices.ContainsFunc(list, func(d SchemaDifference) bool { return d.Name == name && d.Repairable() }) {
			t.Errorf("%s %s: not found: %v, %v", kind, name, list, err)
		}
		if _, err := RepairSchema(ctx, s); err != nil {
			t.Fatal(err)
		}
		repairAll(t, s)
		if list, err := SchemaDifferences(ctx, s); err != nil || len(list) > 0 {
			t.Errorf("%s %s: still %v, %v", kind, name, list, err)
		}
		if got := dump(t, s); !reflect.DeepEqual(want, got) {
			t.Errorf("%s %s: the rows are others:\n%v\nwant\n%v", kind, name, got, want)
		}
	}
	if err := spoil(t, s, "CREATE TRIGGER quiet AFTER INSERT ON inbox BEGIN DELETE FROM inbox; END"); err != nil {
		t.Fatal(err)
	}
	if list, err := SchemaDifferences(ctx, s); err != nil || len(list) != 1 || list[0].Name != "quiet" || list[0].Repairable() {
		t.Errorf("a trigger: %v, %v", list, err)
	}
}
