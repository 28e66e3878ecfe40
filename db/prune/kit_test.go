package prune

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/keep"
	"agent/db/maintain"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// world is a store with a clock that a test sets, and with what its runs kept.
type world struct {
	*testing.T
	s    *db.Store
	now  time.Time
	hit  func(fault.Point)
	kept map[string][]string // names of contents by the thread that a person knows
	n    int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2036, 11, 20, 12, 0, 0, 0, time.UTC), kept: map[string][]string{}, hit: func(fault.Point) {}}
	s, err := db.Open(t.Context(), dbtest.StateDir(t), db.Options{
		NoBallast: true, Now: func() time.Time { return w.now }, Hit: func(p fault.Point) { w.hit(p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.s = s
	return w
}

// run starts a run; of is its thread, "" for one of its own.
func (w *world) run(of string, above *db.RunRow, change func(*journal.RunCreated)) db.Head {
	w.Helper()
	w.n++
	run := fmt.Sprintf("r-%04d", w.n)
	thread := db.ThreadRef{ID: of}
	if of == "" {
		thread = db.ThreadRef{ID: "t-" + run[2:], Folder: "/work/t-" + run[2:], New: true}
	}
	facts := dbtest.Child(run, thread.ID, under(above))
	if c := facts[0].Body.(journal.RunCreated); change != nil {
		change(&c)
		facts[0].Body = c
	}
	h, err := w.s.Create(w.Context(), thread, facts)
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func under(above *db.RunRow) *dbtest.Above {
	if above == nil {
		return nil
	}
	root, thread := above.Root, above.RootThread
	if root == "" {
		root, thread = above.ID, above.Thread
	}
	return &dbtest.Above{Parent: above.ID, Root: root, Thread: thread, Role: "delegate c-1a2b3c4d"}
}

func (w *world) row(run string) *db.RunRow {
	w.Helper()
	r, err := w.s.Run(w.Context(), run)
	if err != nil {
		w.Fatal(err)
	}
	return &r
}

func (w *world) add(h db.Head, facts ...journal.Event) db.Head {
	w.Helper()
	next, err := w.s.Append(w.Context(), h, facts, db.AppendOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return next
}

// turn has a run do something, and end where that is wanted.
func (w *world) turn(h db.Head, content string, end bool) db.Head {
	w.Helper()
	a, b := dbtest.Turn(1, "c-"+h.Run[2:]+"a", content)
	h = w.add(w.add(h, a...), b...)
	if end {
		h = w.add(h, dbtest.InTurn(2, journal.RunCompleted{Text: "done"})...)
	}
	return h
}

// unknown has a run end after a call whose outcome is unknown.
func (w *world) unknown(h db.Head) db.Head {
	w.Helper()
	a, b := dbtest.Turn(1, "c-"+h.Run[2:]+"u", "")
	s := b[0].Body.(journal.CallSettled)
	s.Result.Outcome, s.Result.Applied = journal.OutcomeUnknown, journal.AppliedUnknown
	b[0].Body = s
	return w.add(w.add(w.add(h, a...), b...), dbtest.InTurn(2, journal.RunCompleted{Text: "done"})...)
}

// keep has a run keep a content, which a fact of it names.
func (w *world) keep(h db.Head, thread string, content []byte) db.Head {
	w.Helper()
	c, err := w.s.Contents()
	if err != nil {
		w.Fatal(err)
	}
	row, err := c.Stage(w.Context(), content)
	if err != nil {
		w.Fatal(err)
	}
	fact := journal.FilesChanged{Look: 1, Changes: []journal.FileChange{
		journal.NewFileChange("file", journal.ProofWhile, nil, &journal.FileVersion{Kind: journal.FileRegular, Size: row.Size, Kept: row.Name}),
	}}
	h, err = w.s.Append(w.Context(), h, dbtest.InTurn(1, fact), db.AppendOptions{Kept: []keep.Row{row}})
	if err != nil {
		w.Fatal(err)
	}
	w.kept[thread] = append(w.kept[thread], row.Name)
	return h
}

// random fills the store with threads of every kind.
func (w *world) random(r *rand.Rand, threads int) {
	w.Helper()
	var of []string
	for i := range threads {
		w.now = w.now.Add(time.Hour)
		var h db.Head
		var forked *journal.Position
		kind := r.IntN(10)
		if kind == 0 && len(of) > 0 {
			from, err := w.s.ThreadRuns(w.Context(), of[r.IntN(len(of))])
			if err != nil {
				w.Fatal(err)
			}
			forked = &journal.Position{Run: from[0].ID, Turn: 1}
		}
		h = w.run("", nil, func(c *journal.RunCreated) {
			c.From, c.Environ = forked, []string{fmt.Sprintf("N=%d", i%7)}
			if i%3 == 0 {
				c.StartKey, c.StartDigest = "key "+c.Run, "digest"
			}
		})
		thread := h.Thread
		of = append(of, thread)
		if r.IntN(3) == 0 {
			h = w.keep(h, thread, []byte(fmt.Sprintf("content %d", r.IntN(12))))
		}
		if r.IntN(8) == 0 {
			h = w.keep(h, thread, noise(r.IntN(3)))
		}
		content := "fine"
		if r.IntN(4) == 0 {
			content = strings.Repeat(fmt.Sprint(r.IntN(3)), 1<<(15+r.IntN(5)))
		}
		switch kind {
		case 1:
			w.turn(h, content, false)
		case 2:
			w.unknown(h)
		case 3:
			w.add(h, dbtest.Events(dbtest.Question("p-"+h.Run[2:]))...)
		case 4, 5: // a family
			above := w.row(h.Run)
			for range 1 + r.IntN(3) {
				child := w.run("", above, nil)
				child = w.keep(child, thread, []byte(fmt.Sprintf("content %d", r.IntN(12))))
				if r.IntN(6) == 0 {
					w.unknown(child)
				} else {
					w.turn(child, content, true)
				}
			}
			w.turn(h, content, true)
		case 6: // two runs
			h = w.turn(h, content, true)
			next := w.run(thread, nil, func(c *journal.RunCreated) { c.Previous = h.Run })
			w.turn(next, content, r.IntN(4) > 0)
		default:
			w.turn(h, content, true)
		}
	}
}

// noise is a content that stays too large for a row.
func noise(n int) []byte {
	b := make([]byte, 600<<10)
	chacha := rand.NewChaCha8([32]byte{byte(n)})
	if _, err := chacha.Read(b); err != nil {
		panic(err)
	}
	return b
}

// age makes the files of contents older than those that wait for their row.
func (w *world) age() {
	w.Helper()
	old := time.Now().Add(-2 * grace)
	for _, pattern := range []string{"blobs/*/*", "keep/*/*"} {
		files, err := filepath.Glob(filepath.Join(w.s.Dir(), pattern))
		for _, f := range files {
			err = errors.Join(err, os.Chtimes(f, old, old))
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// hands are those of a folder without processes.
func (w *world) hands() Hands {
	return Hands{
		Hold:  func(run string) (Lock, error) { return noLock{}, nil },
		Files: func(run string) error { return nil },
		Named: func(manifest []byte) ([]string, error) { return strings.Fields(string(manifest)), nil },
	}
}

type noLock struct{}

func (noLock) Remove() error { return nil }
func (noLock) Close() error  { return nil }

// facts are all of the journals, by run.
func (w *world) facts() map[string][]journal.Event {
	w.Helper()
	rows, err := w.s.Runs(w.Context(), db.Filter{All: true, Children: true})
	if err != nil {
		w.Fatal(err)
	}
	out := map[string][]journal.Event{}
	for _, r := range rows {
		for e, err := range w.s.Load(w.Context(), r.ID, 0) {
			if err != nil {
				w.Fatal(err)
			}
			out[r.ID] = append(out[r.ID], e)
		}
	}
	return out
}

// sound fails where doctor would find something. Files that no row names may be there after a kill.
func (w *world) sound(killed bool) {
	w.Helper()
	r, err := maintain.Check(w.Context(), w.s)
	if err != nil {
		w.Fatal(err)
	}
	problems := append(r.Problems, r.Kept.Problems...)
	if !killed {
		problems = append(append(problems, r.Leftover...), r.Kept.Leftover...)
	}
	differences, err := maintain.Differences(w.Context(), w.s)
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range differences {
		// The claims of a run are counted by who has folded its journal, which is nobody here.
		if d.Table != "runs" || !strings.HasSuffix(d.What, "claims is 0 in the row and 1 in the journal") {
			problems = append(problems, d.String())
		}
	}
	if len(problems) > 0 {
		w.Fatalf("the store is not sound:\n%s", strings.Join(problems, "\n"))
	}
}

// count is what a query for one number gives.
func (w *world) count(query string) (n int) {
	w.Helper()
	if err := w.s.File().Readers().QueryRowContext(w.Context(), query).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// gone fails where something is left of runs that are not there, or that nobody names.
func (w *world) gone() {
	w.Helper()
	for _, q := range []string{
		"SELECT COUNT(*) FROM runs WHERE root_no < 0",
		"SELECT COUNT(*) FROM threads WHERE id NOT IN (SELECT thread FROM runs)",
		"SELECT COUNT(*) FROM journal WHERE id >> 24 NOT IN (SELECT no FROM runs)",
		"SELECT COUNT(*) FROM tool_executions WHERE run_no NOT IN (SELECT no FROM runs)",
		"SELECT COUNT(*) FROM pending_requests WHERE run_no NOT IN (SELECT no FROM runs)",
		"SELECT COUNT(*) FROM file_changes WHERE run_no NOT IN (SELECT no FROM runs)",
		"SELECT COUNT(*) FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM journal j WHERE j.body_hash = b.hash OR instr(j.body, lower(hex(b.hash))) > 0)",
		"SELECT COUNT(*) FROM kept k WHERE NOT EXISTS (SELECT 1 FROM journal j WHERE instr(j.body, lower(hex(k.id))) > 0)",
		"SELECT COUNT(*) FROM environments e WHERE NOT EXISTS (SELECT 1 FROM journal j WHERE instr(j.body, e.id) > 0)",
	} {
		if n := w.count(q); n != 0 {
			w.Errorf("%s: %d", q, n)
		}
	}
}

// reads fails where something that stays cannot be read as before.
func (w *world) reads(before map[string][]journal.Event, p Plan) {
	w.Helper()
	want := map[string][]journal.Event{}
	for run, facts := range before {
		want[run] = facts
	}
	staying := map[string]bool{}
	for _, t := range p.Go {
		for _, r := range t.Runs {
			delete(want, r.ID)
		}
		staying[t.ID] = true
	}
	if got := w.facts(); !reflect.DeepEqual(got, want) {
		w.Fatalf("there are %d runs, and not the %d that stay as they were", len(got), len(want))
	}
	c, err := w.s.Contents()
	if err != nil {
		w.Fatal(err)
	}
	for thread, names := range w.kept {
		for _, name := range names {
			if _, err := c.Get(w.Context(), name); err != nil && !staying[thread] {
				w.Errorf("thread %s: %v", thread, err)
			}
		}
	}
}

// copyOf is the state folder once more, open.
func (w *world) copyOf(t *testing.T) *world {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(w.s.Dir())); err != nil {
		t.Fatal(err)
	}
	v := &world{T: t, now: w.now, kept: w.kept, hit: func(fault.Point) {}}
	s, err := db.Open(context.Background(), dir, db.Options{NoBallast: true, Now: func() time.Time { return v.now }, Hit: func(p fault.Point) { v.hit(p) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	v.s = s
	return v
}
