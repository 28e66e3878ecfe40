package witness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/witness/line"
	"agent/host/witness/witnesstest"
	"agent/recovery/journal"
)

// stage is a state folder with a run, and a witness.
type stage struct {
	t     *testing.T
	store *db.Store
	heard *witnesstest.Witness
	sock  string
	run   journal.RunCreated
	head  db.Head
}

func newStage(t *testing.T) *stage {
	t.Helper()
	store, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "state"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "w") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, store: store, sock: filepath.Join(dir, "s")}
	if st.heard, err = witnesstest.Start(st.sock); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(st.heard.Close(), store.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	st.run = journal.RunCreated{Run: "r-7k2m9qx4", Thread: "t-3f6h8abc", Prompt: "p", Folder: "/", Model: "runbook", Mode: journal.ModeAuto, Version: "1", ToolsHash: "a"}
	st.head, err = store.Create(t.Context(), db.ThreadRef{ID: st.run.Thread, Folder: "/", New: true}, st.events(0, st.run, journal.RunClaimed{Epoch: 1, PID: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func (st *stage) events(after int64, bodies ...journal.Body) (out []journal.Event) {
	for i, b := range bodies {
		out = append(out, journal.Event{Seq: after + int64(i) + 1, Time: time.Now().UTC().Truncate(time.Microsecond), Body: b})
	}
	return out
}

// note records a fact, as whoever drives the run.
func (st *stage) note(text string) {
	st.t.Helper()
	var err error
	if st.head, err = st.store.Append(st.t.Context(), st.head, st.events(st.head.Seq, journal.RunNoted{Text: text}), db.AppendOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

// process is what another process of this machine knows of the witness.
func (st *stage) process() *Witness {
	return New(Options{
		Address: "unix:" + st.sock, Home: st.t.TempDir(), Patience: 300 * time.Millisecond, Store: st.store, Version: "1",
		Warn: func(_, format string, args ...any) { st.t.Logf(format, args...) },
	})
}

func (st *stage) tell(w *Witness) error { return w.Tell(st.t.Context(), st.run, "claim") }

// What other processes of this machine said meanwhile is no sign of another host, and is told apart
// from one. Promise 2 of the fleet.
func TestWhatOthersSaidHere(t *testing.T) {
	st := newStage(t)
	driver, page := st.process(), st.process()
	if err := errors.Join(st.tell(driver), page.Still(t.Context(), st.run)); err != nil {
		t.Fatal(err)
	}
	st.note("one")
	if err := st.tell(driver); err != nil {
		t.Fatal(err)
	}
	page.family(st.run).said = time.Time{} // it was a while ago
	if err := page.Still(t.Context(), st.run); err != nil {
		t.Errorf("still: %v", err)
	}
	st.note("two")
	if err := st.tell(page); err != nil {
		t.Errorf("the next driver: %v", err)
	}
	st.note("three")
	if err := st.tell(driver); err != nil { // its place is taken, by this machine
		t.Errorf("the first driver: %v", err)
	}
	if log := st.heard.Heard(st.run.Run); len(log) != 4 || witnesstest.Whole(log) != nil {
		t.Errorf("%d entries: %v", len(log), witnesstest.Whole(log))
	}
	if err := st.heard.Say("fenced", "h-11"); err != nil {
		t.Fatal(err)
	}
	st.note("four")
	var fenced *drive.FencedError
	if err := st.tell(driver); !errors.As(err, &fenced) || fenced.By != "h-11" {
		t.Errorf("another host: %v", err)
	}
}

// A witness that does not answer is waited for as long as was said, and no longer than whoever
// waits wants to. Promise 9 of the fleet.
func TestAWitnessThatHangs(t *testing.T) {
	st := newStage(t)
	w := st.process()
	if err := st.heard.Say("hold", ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.patience, w.answer = time.Hour, time.Hour
	w.Soon(st.run)
	done := make(chan error, 1)
	go func() { done <- w.Tell(ctx, st.run, "claim") }()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it is waited for, though nobody wants that any more")
	}
	w.patience = time.Second
	var silent *drive.WitnessError
	if err := st.tell(w); !errors.As(err, &silent) {
		t.Errorf("patience: %v", err)
	}
	if err := st.heard.Say("ok", ""); err != nil {
		t.Fatal(err)
	}
	if err := st.tell(w); err != nil {
		t.Errorf("it answers again: %v", err)
	}
	if log := st.heard.Heard(st.run.Run); len(log) != 1 || witnesstest.Whole(log) != nil {
		t.Errorf("%d entries: %v", len(log), witnesstest.Whole(log))
	}
}

// An entry of which nobody knows whether it was taken is in the log once, if it was and if it was
// not, and that is no sign of another host. Promise 2 of the fleet.
func TestAnEntryIsLostOnTheWay(t *testing.T) {
	for name, fate := range map[string]witnesstest.Fate{"taken": witnesstest.Lose, "not taken": witnesstest.Drop, "later": witnesstest.Later} {
		st := newStage(t)
		w, asked := st.process(), 0
		w.patience = time.Minute
		st.heard.Meet(func(line.Request) witnesstest.Answer {
			if asked++; asked == 1 {
				return witnesstest.Answer{Fate: fate}
			}
			return witnesstest.Answer{}
		})
		if err := st.tell(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		st.note("one")
		if err := st.tell(w); err != nil {
			t.Errorf("%s, and then: %v", name, err)
		}
		if log := st.heard.Heard(st.run.Run); len(log) != 2 || witnesstest.Whole(log) != nil || asked != 3 {
			t.Errorf("%s: %d entries, %d requests: %v", name, len(log), asked, witnesstest.Whole(log))
		}
	}
}

// A witness that was killed is waited for, and one that comes back with an older log is not
// believed.
func TestAWitnessThatIsKilled(t *testing.T) {
	st := newStage(t)
	w := st.process()
	if err := errors.Join(st.tell(w), st.heard.Down()); err != nil {
		t.Fatal(err)
	}
	st.note("one")
	var refused *drive.WitnessError
	if err := st.tell(w); !errors.As(err, &refused) {
		t.Errorf("it is gone: %v", err)
	}
	if err := errors.Join(st.heard.Up(), st.tell(w), st.heard.Down()); err != nil {
		t.Fatal(err)
	}
	st.heard.Forget(st.run.Run)
	if err := st.heard.Up(); err != nil {
		t.Fatal(err)
	}
	st.note("two")
	next := st.process() // which asks first how far the log is
	next.seen = w.seen
	for _, p := range []*Witness{w, next} {
		if err := st.tell(p); !errors.As(err, &refused) {
			t.Errorf("its log is older: %v", err)
		}
	}
	if !st.heard.Remember() {
		t.Error("the older log was written to")
	}
	if err := st.tell(w); err != nil {
		t.Errorf("its log is whole again: %v", err)
	}
	st.heard.Give(st.run.Run, "h-11")
	st.note("three")
	var fenced *drive.FencedError
	if err := st.tell(w); !errors.As(err, &fenced) || fenced.By != "h-11" {
		t.Errorf("another host has it: %v", err)
	}
}
