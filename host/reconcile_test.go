package host

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/dbtest"
	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools/process"
)

// kin is a family without any process: a root, two children, and a grandchild.
type kin struct {
	*testing.T
	*Host
	heads map[string]db.Head
}

func newKin(t *testing.T) *kin {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	s, err := db.Open(t.Context(), home, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &kin{T: t, Host: &Host{Process: drive.Process{Store: s, Home: home, Now: time.Now, Self: process.Identity{Boot: "boot"}}}, heads: map[string]db.Head{}}
	k.Guard()
	for _, run := range []string{"root", "one", "two", "below-one"} {
		above := &dbtest.Above{Parent: "r-root", Root: "r-root", Thread: "t-root", Role: "delegate c-1"}
		switch run {
		case "root":
			above = nil
		case "below-one":
			above.Parent = "r-one"
		}
		h, err := s.Create(t.Context(), db.ThreadRef{ID: "t-" + run, Folder: "/w", New: true}, dbtest.Child("r-"+run, "t-"+run, above))
		if err != nil {
			t.Fatal(err)
		}
		k.heads[run] = h
	}
	return k
}

func (k *kin) add(run string, o db.AppendOptions, bodies ...journal.Body) {
	k.Helper()
	h, err := k.Store.Append(k.Context(), k.heads[run], dbtest.Events(bodies...), o)
	if err != nil {
		k.Fatal(err)
	}
	k.heads[run] = h
}

func (k *kin) asks(runs ...string) {
	k.Helper()
	for _, run := range runs {
		k.add(run, db.AppendOptions{}, dbtest.Question("p-"+run))
	}
}

// parks leaves a run waiting without a question of its own.
func (k *kin) parks(runs ...string) {
	k.Helper()
	for _, run := range runs {
		k.add(run, db.AppendOptions{Status: recovery.StatusWaiting}, journal.RunNoted{Text: "parked"})
	}
}

func (k *kin) finds(when string, want ...string) {
	k.Helper()
	for _, write := range []bool{false, true} {
		marks, err := k.Reconcile(k.Context(), write)
		if err != nil {
			k.Fatal(err)
		}
		var got []string
		for _, m := range marks {
			got = append(got, fmt.Sprintf("%s %s below: %s", m.Run, m.Cause, strings.Join(m.Below, " ")))
		}
		if !slices.Equal(got, want) {
			k.Errorf("%s: %q and not %q", when, got, want)
		}
	}
}

func (k *kin) are(want string) {
	k.Helper()
	var got []string
	for _, run := range []string{"root", "one", "two", "below-one"} {
		row, err := k.Store.Run(k.Context(), "r-"+run)
		if err != nil {
			k.Fatal(err)
		}
		got = append(got, strings.TrimSpace(string(row.Status)+" "+string(row.Cause)))
	}
	if s := strings.Join(got, ", "); s != want {
		k.Errorf("they are %s, and not %s", s, want)
	}
}

// While somebody holds a root, nothing of its family is marked; once nobody does, all of it is, and
// one mark says so.
func TestReconcileMarksAFamilyAtOnce(t *testing.T) {
	k := newKin(t)
	k.asks("two")
	lock, err := k.Locks().Take("r-root")
	if err != nil {
		t.Fatal(err)
	}
	k.finds("while the root is held")
	k.are("running, running, waiting, running")
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	k.finds("after that", "r-root crash below: r-one r-below-one")
	k.are("interrupted crash, interrupted crash, waiting, interrupted crash")
	k.finds("again")
}

// A root that waits for people who were asked below it stays as it is until one of them did.
func TestReconcileLeavesAParkedRoot(t *testing.T) {
	for how, want := range map[string]string{"answered": "answered", "withdrawn": "withdrawn"} {
		k := newKin(t)
		k.asks("two", "below-one")
		k.parks("one", "root")
		k.finds("while all wait")
		k.are("waiting, waiting, waiting, waiting")
		var err error
		if how == "answered" {
			_, err = k.Store.Answer(t.Context(), "p-below-one", json.RawMessage("true"), "ada")
		} else {
			_, err = k.Store.CancelRequest(t.Context(), "p-below-one", "ada")
		}
		if err != nil {
			t.Fatal(err)
		}
		k.finds(how, "r-root "+want+" below: r-below-one")
		k.are("interrupted " + want + ", waiting, waiting, interrupted " + want)
	}
}

// What is below a parked root and neither waits nor has ended has the root go on, and so does the
// end of all of it.
func TestReconcileLooksBelowAParkedRoot(t *testing.T) {
	k := newKin(t)
	k.asks("two")
	k.parks("root")
	k.finds("with two that go on", "r-root crash below: r-one r-below-one")

	k = newKin(t)
	k.parks("root")
	for _, run := range []string{"one", "two", "below-one"} {
		k.add(run, db.AppendOptions{}, journal.RunCompleted{Text: "done"})
	}
	k.finds("with ends", "r-root answered below: ")
	k.are("interrupted answered, completed, completed, completed")
}
