package serve

import (
	"context"
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

// A run that cannot be started is tried three times and no more, and the person learns of it each
// time; what a person stopped is named once and not tried.
func TestCannotStart(t *testing.T) {
	w := newWorld(t)
	interrupted := func(id string, c journal.Cause) {
		thread := "t" + id[1:]
		err := w.journals.Begin(t.Context(), id, thread,
			journal.Event{Body: journal.RunCreated{Run: id, Thread: thread, Prompt: "go", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
			journal.Event{Body: journal.RunClaimed{Epoch: 1, PID: 1, Detached: true}},
			journal.Event{Body: journal.RunInterrupted{Cause: c, Detail: "in a test"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	interrupted("r-crashed1", journal.CauseCrash)
	interrupted("r-stopped1", journal.CauseShutdown)
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
