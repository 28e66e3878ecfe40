package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
	"agent/host/launch"
	"agent/recovery"
	"agent/recovery/journal"
)

// When a run is tried: what was interrupted before the server was there at once, what is
// interrupted while it is up after 1, 5 and 25 seconds, and what could not be started three times
// not any more.
func TestWaits(t *testing.T) {
	w := newWorld(t)
	server := &Server{o: Options{Folder: w.folder}}
	now := w.folder.Host.Now()
	crash := func(tries int, ago time.Duration) app.RunRow {
		return app.RunRow{ID: "r-7k2m9qx4", Status: recovery.StatusInterrupted, Cause: journal.CauseCrash, Detached: true, Fruitless: tries, Updated: now.Add(-ago)}
	}
	for name, c := range map[string]struct {
		first bool
		row   app.RunRow
		tried attempt
		want  bool
	}{
		"at the start":                      {true, crash(0, 0), attempt{}, false},
		"at once":                           {false, crash(0, 0), attempt{}, true},
		"after a second":                    {false, crash(0, time.Second), attempt{}, false},
		"once more at once":                 {false, crash(1, time.Second), attempt{}, true},
		"once more after five":              {false, crash(1, 5*time.Second), attempt{}, false},
		"a third time too early":            {false, crash(2, 24*time.Second), attempt{}, true},
		"a third time":                      {false, crash(2, 25*time.Second), attempt{}, false},
		"while it is being started":         {true, crash(0, time.Hour), attempt{busy: true}, true},
		"could not start, too early":        {true, crash(0, time.Hour), attempt{failed: 1, again: now.Add(time.Minute)}, true},
		"could not start three times":       {true, crash(0, time.Hour), attempt{failed: 3}, true},
		"answered while the server is up":   {false, app.RunRow{ID: "r-7k2m9qx4", Cause: journal.CauseAnswered, Updated: now}, attempt{}, false},
		"stood elsewhere by then":           {true, crash(0, time.Hour), attempt{at: 1, failed: 3}, false},
		"the clock was set back":            {false, crash(0, -time.Hour), attempt{}, false},
		"could not start, and time is over": {false, crash(0, time.Hour), attempt{failed: 2, again: now.Add(-time.Minute)}, false},
	} {
		s := &supervisor{Server: server, first: c.first, tried: map[string]attempt{"r-7k2m9qx4": c.tried}}
		if got := s.waits(c.row); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// starts notes which runs it is asked to have go on, and fails as it is asked.
type starts struct {
	mu     sync.Mutex
	runs   []string
	failed string
}

func (*starts) Start(context.Context, launch.Job) (launch.Answer, error) {
	return launch.Answer{}, launch.ErrNoAnswer
}

func (*starts) GoOn(**launch.Accepted) host.GoOn { return nil }

func (s *starts) One(_ context.Context, r host.Carried) carry.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, r.ID)
	return carry.Result{Run: r.ID, Why: r.Why, Failed: s.failed, Goes: s.failed == ""}
}

// interrupted records a run of the background that stopped.
func (w *world) interrupted(id string, c journal.Cause) {
	w.t.Helper()
	thread := "t" + id[1:]
	err := w.journals.Begin(w.t.Context(), id, thread,
		journal.Event{Body: journal.RunCreated{Run: id, Thread: thread, Prompt: "go", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
		journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1, Detached: true}},
		journal.Event{Body: journal.RunInterrupted{Cause: c, Detail: "in a test"}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// A run that cannot be started is tried three times and no more, and the person learns of it each
// time; what a person stopped is named once and not tried.
func TestCannotStart(t *testing.T) {
	w := newWorld(t)
	w.interrupted("r-crashed1", journal.CauseCrash)
	w.interrupted("r-stopped1", journal.CauseShutdown)
	c := &starts{failed: "no room"}
	var mu sync.Mutex
	said := map[string]int{}
	s, err := New(Options{App: w.app, Folder: w.folder, Carrier: c, Say: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		said[fmt.Sprintf(format, args...)]++
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(nil); err != nil {
			t.Error(err)
		}
	}()
	runs := &supervisor{Server: s, first: true, tried: map[string]attempt{}, named: map[string]string{}}
	for range 5 {
		runs.first = true // no crash is so recent that it waits
		if err := runs.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.running.Wait()
		for run, a := range runs.tried {
			a.again = time.Time{} // its time is over
			runs.tried[run] = a
		}
	}
	if len(c.runs) != 3 || c.runs[0] != "r-crashed1" {
		t.Errorf("tried: %v", c.runs)
	}
	if n := said["run r-crashed1 could not go on in the background (no room): agent resume r-crashed1"]; n != 3 || len(said) != 2 {
		t.Errorf("%v", said)
	}
	if n := said["run r-stopped1 is left as it is (shutdown: in a test): agent resume r-stopped1"]; n != 1 {
		t.Errorf("%v", said)
	}
}

// heldUp stands for processes that begin and do not answer until they are let go on.
type heldUp struct {
	starts
	began chan string
	goOn  chan struct{}
}

func (h *heldUp) One(ctx context.Context, r host.Carried) carry.Result {
	h.began <- r.ID
	<-h.goOn
	return h.starts.One(ctx, r)
}

func (h *heldUp) GoOn(**launch.Accepted) host.GoOn {
	return func(_ context.Context, run string) (host.Outcome, error) {
		h.began <- run
		<-h.goOn
		return host.Outcome{}, nil
	}
}

// While processes that were started have not claimed their runs, as where MCP servers start slowly,
// no more are started than may be driven; and the server ends without their answer.
func TestHeldUpStarts(t *testing.T) {
	w := newWorld(t)
	for i := range 9 {
		w.interrupted(fmt.Sprintf("r-crashed%d", i), journal.CauseCrash)
	}
	c := &heldUp{began: make(chan string, 20), goOn: make(chan struct{})}
	defer close(c.goOn)
	s, err := New(Options{App: w.app, Folder: w.folder, Carrier: c, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	runs := &supervisor{Server: s, first: true, tried: map[string]attempt{}, named: map[string]string{}}
	for range 3 {
		if err := runs.look(s.stopped); err != nil {
			t.Fatal(err)
		}
	}
	const most = 4 // as the configuration has it
	for range most {
		<-c.began
	}
	if n := runs.busy(); n != most {
		t.Errorf("%d processes were started, of %d that may be", n, most)
	}
	if err := s.close(nil); err != nil {
		t.Error(err)
	}
}

// A process that takes up an answer may be held up as well: whoever answered does not wait for it,
// and until then nobody else has the run go on.
func TestHeldUpAnswer(t *testing.T) {
	w := newWorld(t)
	c := &heldUp{began: make(chan string, 1), goOn: make(chan struct{})}
	defer close(c.goOn)
	server := &Server{o: Options{Folder: w.folder, Carrier: c}, starting: starting{runs: map[string]int{}, wait: 100 * time.Millisecond}}
	runs := &supervisor{Server: server}
	row := app.RunRow{ID: "r-7k2m9qx4", Cause: journal.CauseAnswered}
	over := make(chan error, 1)
	go func() {
		_, err := acts{server}.goOn()(t.Context(), row.ID)
		over <- err
	}()
	<-c.began
	if !runs.waits(row) && len(over) == 0 {
		t.Error("the run is started twice")
	}
	var late *problem
	if err := <-over; !errors.As(err, &late) || late.Code != "not_started" {
		t.Error(err)
	}
	if runs.waits(row) {
		t.Error("what was given up counts as begun")
	}
}
