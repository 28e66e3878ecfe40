// Package testkit waits for events in tests. It is the only package of the project that pauses,
// polls or measures on behalf of a test, so that how patient the tests are is decided once: a test
// fails since something never happened, not since a busy machine was slow.
package testkit

import (
	"os"
	"testing"
	"time"
)

// Slow is the environment variable that makes every wait five times as patient, for machines and
// instruments that are slow: an emulator, the race detector under load.
const Slow = "AGENT_SLOW"

// patience is how long is waited for an event of a healthy program. It only bounds how long a
// failure takes, since a wait ends with the event.
const patience = time.Minute

// Pauses between two looks grow from the first to the longest, so that what is quick is seen at
// once and what takes long costs little.
const (
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// Until returns when ready does: it looks again and again, for a minute at most. If that is not
// enough, the test fails with what was awaited and with what the machine was busy with. Like
// t.Fatal it belongs into the goroutine of the test.
func Until(t testing.TB, what string, ready func() bool) {
	t.Helper()
	realTime().until(t, what, ready)
}

// watch is a clock, and how patiently it is looked at.
type watch struct {
	now    func() time.Time
	pause  func(time.Duration)
	limit  time.Duration
	report func() string // what the machine was busy with
}

func realTime() watch {
	limit := patience
	if os.Getenv(Slow) != "" {
		limit *= 5
	}
	return watch{now: time.Now, pause: time.Sleep, limit: limit, report: machine}
}

func (w watch) until(t testing.TB, what string, ready func() bool) {
	t.Helper()
	if !w.await(ready) {
		t.Fatalf("timed out after %s: waited until %s\n%s", w.limit, what, w.report())
	}
}

// await reports whether ready became true in time. The last look is behind the last pause: a
// process that was stopped all the while still sees what has come.
func (w watch) await(ready func() bool) bool {
	began, pause := w.now(), firstPause
	for !ready() {
		if w.now().Sub(began) >= w.limit {
			return ready()
		}

		w.pause(pause)
		pause = min(pause*3/2, longestPause)
	}
	return true
}
