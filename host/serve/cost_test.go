package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/app"
	"agent/recovery/journal"
	"agent/scripts/testkit"
)

// Where a run stands is the same whether it is read whole or kept and read on, and who asks again
// costs next to nothing, however long the run is.
func TestStandingIsReadOnce(t *testing.T) {
	w := newWorld(t)
	run := w.run("r-00000001", "p")
	w.hold(run)
	kept := app.NewStanding(w.folder, run)
	same := func() {
		t.Helper()
		fresh, err := w.folder.Snapshot(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				got, err := kept.Snapshot(t.Context())
				a, _ := json.Marshal(got)
				b, _ := json.Marshal(fresh)
				if err != nil || string(a) != string(b) {
					t.Errorf("kept: %s, %v; read whole: %s", a, err, b)
				}
			})
		}
		all.Wait()
	}
	const turns = 300
	for n := 1; n <= turns; n += 100 {
		w.turns(run, n, 100, "text")
		same()
	}
	limits := journal.Limits{MaxTurns: 7}
	w.add(run, journal.Event{Turn: turns + 1, Body: journal.RunClaimed{Epoch: 2, PID: 1, Limits: &limits}})
	same()
	ask := func(f func(context.Context) error) float64 {
		return testing.AllocsPerRun(3, func() {
			if err := f(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	first := ask(func(ctx context.Context) error { _, err := w.folder.Snapshot(ctx, run); return err })
	again := ask(func(ctx context.Context) error { _, err := kept.Snapshot(ctx); return err })
	if again*4 > first {
		t.Errorf("asked again it takes %v allocations, the first time %v", again, first)
	}
	w.complete(run, turns+1)
	same()
	if v, err := kept.Outcome(t.Context()); err != nil || v.Result != "done" || v.Turns != turns+1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Who asks where a run stands again and again has its journal read once.
func TestRunIsReadOnce(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	w.turns(run, 1, 300, "text")
	ask := func() {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/runs/"+run, nil)
		r.Header.Set("Authorization", "Bearer "+w.token)
		got := httptest.NewRecorder()
		if w.s.ServeHTTP(got, r); got.Code != http.StatusOK {
			t.Fatal(got.Code, got.Body)
		}
	}
	again := testing.AllocsPerRun(3, ask) // after one that is not counted
	first := testing.AllocsPerRun(3, func() {
		if _, err := w.folder.Snapshot(t.Context(), run); err != nil {
			t.Error(err)
		}
	})
	if again*4 > first {
		t.Errorf("asked again it takes %v allocations, the first time %v", again, first)
	}
}

// turns adds turns in one commit.
func (w *world) turns(run string, first, count int, text string) {
	w.t.Helper()
	var all []journal.Event
	for n := range count {
		all = append(all, turn(run, first+n, text, "printed")...)
	}
	w.add(run, all...)
}

// stalled is an observer that takes where the run stands and then nothing more.
type stalled struct {
	*httptest.ResponseRecorder
	once    sync.Once
	reached func()
	release <-chan struct{}
}

func (o *stalled) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "id: ") {
		o.once.Do(o.reached)
		<-o.release
		return 0, os.ErrDeadlineExceeded
	}
	return len(b), nil
}

func (*stalled) SetWriteDeadline(time.Time) error { return nil }

// An observer that takes nothing costs less than 64 KiB, however much there is for it, and the
// others see everything meanwhile. // promise 4
func TestStalledObserversCostLittle(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.hold(run)
	const turns, observers = 200, 100
	w.turns(run, 1, turns, strings.Repeat("text ", 1600)) // 1.6 MB, which is more than a feed keeps
	first, _ := w.stream("/v1/runs/" + run + "/events")
	first.until("run.state")
	release := make(chan struct{})
	var reached, ended sync.WaitGroup
	before := memory()
	for range observers {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/runs/"+run+"/events?after=1", nil)
		r.Header.Set("Authorization", "Bearer "+w.token)
		reached.Add(1)
		o := &stalled{ResponseRecorder: httptest.NewRecorder(), reached: reached.Done, release: release}
		ended.Go(func() { w.s.ServeHTTP(o, r) })
	}
	reached.Wait()
	each := int64(memory()-before) / observers
	t.Logf("%d bytes each", each)
	if each > 64<<10 {
		t.Errorf("a stalled observer costs %d bytes", each)
	}
	w.add(run, turn(run, turns+1, "more", "printed")...)
	if got := first.until("turn.settled"); len(got) != 4 {
		t.Errorf("meanwhile: %s", kinds(got))
	}
	close(release)
	ended.Wait()
	first.close()
	testkit.NoneLeft(t, "agent/host/serve.feeds.")
	testkit.NoneLeft(t, "agent/host/watch.(*Feed).Next")
}

// memory is what is in use after everything else was let go of.
func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

var _ http.ResponseWriter = (*stalled)(nil)
