package recovery

import (
	"agent/recovery/journal"
	"testing"
	"time"
)

// running is a run of one claim, with a time limit, and the time of its last fact.
func running(t *testing.T) (*State, time.Time) {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &State{}
	for i, b := range []journal.Body{
		journal.RunCreated{Run: "r-clock", Prompt: "go on", Mode: journal.ModeYolo, Limits: journal.Limits{Timeout: time.Hour}}, journal.RunClaimed{Epoch: 1}, journal.ModelRequested{},
	} {
		if err := s.Apply(journal.Event{Seq: int64(i + 1), Turn: i / 2, Time: at, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	return s, at
}

// A clock that is set changes neither how long a run was going nor how long a request is waited
// with: what passed counts.
func TestClockSet(t *testing.T) {
	for _, step := range []time.Duration{26 * time.Hour, -26 * time.Hour, 10 * 8760 * time.Hour, -10 * 8760 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			s, at := running(t)
			add := func(passed, step time.Duration, b journal.Body) {
				t.Helper()
				at = at.Add(passed + step)
				if err := s.Apply(journal.Event{Seq: s.Seq + 1, Turn: 1, Time: at, Body: b}); err != nil {
					t.Fatal(err)
				}
			}
			add(time.Minute, 0, journal.ModelFailed{Fault: journal.FaultOverloaded, Tries: 1, Wait: 40 * time.Second, Again: true})
			add(10*time.Second, step, journal.RunNoted{Text: "the clock was set", Clock: step})
			if got := s.Spent(at.Add(time.Second)); got != 71*time.Second {
				t.Errorf("the run was going for %s", got)
			}
			if wait := Next(s).(CallModel).NotBefore.Sub(at); wait != 30*time.Second {
				t.Errorf("the model is asked in %s", wait)
			}
		})
	}
}
