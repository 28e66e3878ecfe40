package family_test

import (
	"slices"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/family"
	"agent/db/maintain"
	"agent/recovery"
	"agent/recovery/journal"
)

// world is a store with a clock that a test sets.
type world struct {
	*testing.T
	s   *db.Store
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2036, 11, 20, 12, 0, 0, 0, time.UTC)}
	s, err := db.Open(t.Context(), dbtest.StateDir(t), db.Options{NoBallast: true, Now: func() time.Time { return w.now }})
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

// run starts a run in a thread of its own; above is nil for a root.
func (w *world) run(run string, above *db.RunRow) db.Head {
	w.Helper()
	h, err := w.s.Create(w.Context(), db.ThreadRef{ID: "t-" + run[2:], Folder: "/work/t-" + run[2:], New: true}, dbtest.Child(run, "t-"+run[2:], of(above)))
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func of(above *db.RunRow) *dbtest.Above {
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

// unknown makes a call of a run whose outcome is unknown.
func (w *world) unknown(h db.Head, id string) db.Head {
	w.Helper()
	a, b := dbtest.Turn(1, id, "")
	settled := b[0].Body.(journal.CallSettled)
	settled.Result.Outcome, settled.Result.Applied = journal.OutcomeUnknown, journal.AppliedUnknown
	b[0].Body = settled
	return w.add(w.add(h, a...), b...)
}

func ids(rows []db.RunRow, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

func (w *world) same(what string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s: %q and not %q", what, got, want)
	}
}

// A family is read from its root or from any run; lists are of roots alone.
func TestFamilyIsRead(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.run("r-rootroot", nil)
	root := w.row("r-rootroot")
	w.run("r-childone", root)
	h := w.run("r-childtwo", root)
	w.run("r-grandone", w.row("r-childone"))
	w.run("r-otherone", nil)
	w.add(h, dbtest.Events(journal.RunCompleted{Text: "done"})...)

	w.same("children", ids(family.Children(ctx, w.s, "r-rootroot")), "r-childone", "r-childtwo")
	w.same("children of a child", ids(family.Children(ctx, w.s, "r-childone")), "r-grandone")
	w.same("below", ids(family.Below(ctx, w.s, "r-rootroot")), "r-childone", "r-childtwo", "r-grandone")
	w.same("below another root", ids(family.Below(ctx, w.s, "r-otherone")))
	grand := w.row("r-grandone")
	if grand.Parent != "r-childone" || grand.Root != "r-rootroot" || grand.RootThread != "t-rootroot" || grand.Role != "delegate c-1a2b3c4d" {
		t.Errorf("%+v", grand)
	}
	if root.Parent != "" || root.Root != "" || root.RootThread != "" || root.Role != "" {
		t.Errorf("%+v", root)
	}
	for name, f := range map[string]db.Filter{
		"a plain list": {}, "all": {All: true}, "a page": {Before: 1 << 30, Limit: 9},
	} {
		w.same(name, ids(w.s.Runs(ctx, f)), "r-otherone", "r-rootroot")
	}
	if sizes, err := family.Sizes(ctx, w.s, []db.RunRow{*root, *w.row("r-otherone")}); err != nil || len(sizes) != 1 || sizes["r-rootroot"] != (family.Size{Children: 2, Ended: 1}) {
		t.Errorf("%v %v", sizes, err)
	}
	if d, err := maintain.Differences(ctx, w.s); err != nil || len(d) > 0 {
		t.Errorf("rows of a family differ from what their journals prove: %v %v", d, err)
	}
}

// A child of a run that is not there is not made.
func TestChildWithoutItsParentIsRefused(t *testing.T) {
	w := newWorld(t)
	facts := dbtest.Child("r-childone", "t-childone", &dbtest.Above{Parent: "r-nobody11", Root: "r-nobody11", Thread: "t-nobody11"})
	if _, err := w.s.Create(t.Context(), db.ThreadRef{ID: "t-childone", Folder: "/w", New: true}, facts); err == nil {
		t.Error("it was made")
	}
	if _, err := w.s.Run(t.Context(), "r-childone"); err == nil {
		t.Error("it is there")
	}
}

// An unknown call of one run guards the whole family, and later runs of the root's thread; a call
// is the same call in each of them.
// Promise 26 of flows.
func TestGuardSeesTheFamily(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.run("r-rootroot", nil)
	root := w.row("r-rootroot")
	one := w.unknown(w.run("r-childone", root), "c-unknown1")
	w.run("r-childtwo", root)
	w.unknown(w.run("r-stranger", nil), "c-unknown2")

	doubts := func(thread, except string) []string {
		list, err := w.s.Doubts(ctx, thread, except)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, u := range list {
			out = append(out, u.Run+" "+u.ID+" "+string(u.Resolved))
		}
		return out
	}
	w.same("seen by the root", doubts("t-rootroot", "r-rootroot"), "r-childone c-unknown1 ")
	w.same("seen by a sibling", doubts("t-rootroot", "r-childtwo"), "r-childone c-unknown1 ")
	w.same("seen by itself", doubts("t-rootroot", "r-childone"))
	w.same("where words may be left", ids(family.WithResolutions(ctx, w.s, "t-rootroot", "r-rootroot")), "r-childone")
	undecided := func() []string {
		list, err := family.Undecided(ctx, w.s, "r-rootroot")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range list {
			out = append(out, c.Run+" "+c.ID)
		}
		return out
	}
	w.same("undecided", undecided(), "r-childone c-unknown1")

	w.add(one, dbtest.Events(journal.CallResolved{Place: journal.Place{Turn: 1}, Word: journal.WordHappened})...)
	w.same("that happened", doubts("t-rootroot", "r-later111"), "r-childone c-unknown1 happened")
	w.same("undecided then", undecided())

	args := []byte(`{"command":"make"}`)
	of := func(thread string) string {
		f, err := w.s.Fingerprint(thread, "shell", args)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if of("t-rootroot") != of("t-childone") || of("t-childone") != of("t-childtwo") || of("t-rootroot") == of("t-stranger") {
		t.Error("a family has not one key, or two families have")
	}
}

// What a child brings forward counts for the root: its claims after that are not fruitless.
func TestMoved(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	h := w.run("r-rootroot", nil)
	root := w.row("r-rootroot")
	moved := func(want bool, when string) {
		t.Helper()
		if got, err := family.Moved(ctx, w.s, "r-rootroot"); err != nil || got != want {
			t.Errorf("%s: moved is %v (%v)", when, got, err)
		}
	}
	moved(false, "without a child")
	w.now = w.now.Add(time.Second)
	child := w.run("r-childone", root)
	moved(false, "with a child that asks its model")
	a, b := dbtest.Turn(1, "c-callcall", "fine")
	child = w.add(child, a...)
	moved(true, "after an answer of the child's model")

	claim := func(moved bool) {
		t.Helper()
		w.now = w.now.Add(time.Second)
		h = w.add(h, dbtest.Events(journal.RunInterrupted{Cause: journal.CauseCrash})...)
		h = w.add(h, dbtest.Events(journal.RunClaimed{Epoch: h.Epoch + 1, MovedOn: moved})...)
		w.now = w.now.Add(time.Second)
	}
	fruitless := func(want int) {
		t.Helper()
		s := &recovery.State{}
		for e, err := range w.s.Load(ctx, "r-rootroot", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.row("r-rootroot").Fruitless; got != want || s.Fruitless != want {
			t.Errorf("%d fruitless claims by the row, %d by the journal, want %d", got, s.Fruitless, want)
		}
	}
	claim(false)
	claim(false)
	fruitless(2)
	moved(false, "after a claim")
	w.add(child, b...)
	moved(true, "after a result of the child")
	claim(true)
	fruitless(0)
	moved(false, "after the claim that says so")
	claim(false)
	fruitless(1)
}

// A family was last driven when the newest run of it was, whenever that is found to be dead: what a
// child did within the last days keeps a root that recorded nothing itself for longer.
func TestLastDriven(t *testing.T) {
	w := newWorld(t)
	const day = 24 * time.Hour
	began := w.now
	h := w.run("r-rootroot", nil)
	first := w.run("r-childone", w.row("r-rootroot"))
	second := w.run("r-childtwo", w.row("r-rootroot"))
	grand := w.run("r-grandone", w.row("r-childtwo"))
	driven := func(when string, want time.Duration) {
		t.Helper()
		got, err := family.LastDriven(t.Context(), w.s, *w.row("r-rootroot"))
		if err != nil || !got.Equal(began.Add(want)) {
			t.Errorf("%s: last driven %s after the start (%v), want %s", when, got.Sub(began), err, want)
		}
	}
	moves := func(h db.Head, call string) db.Head {
		a, b := dbtest.Turn(1, call, "fine")
		return w.add(w.add(h, a...), b...)
	}
	died := func(h db.Head) db.Head {
		return w.add(h, dbtest.Events(journal.RunInterrupted{Cause: journal.CauseCrash})...)
	}
	w.now = began.Add(3 * day)
	first = moves(first, "c-callone1")
	w.now = began.Add(9 * day)
	grand = moves(grand, "c-callgran")
	w.now = began.Add(5 * day) // a clock that was set back
	second = moves(second, "c-calltwo2")

	w.now = began.Add(40 * day)
	for _, h := range []db.Head{first, second, grand, h} {
		died(h)
	}
	driven("found dead long after", 9*day)
}
