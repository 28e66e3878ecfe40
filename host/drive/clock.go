package drive

import (
	"fmt"
	"time"

	"agent/recovery"
)

// moment is one moment by the clock, and by what measures how much time passes: no setting of the clock changes that.
type moment struct{ date, at time.Time }

// clockSlack is how far the clock may drift between two facts before a word is said. It is set in small steps all day long.
const clockSlack = 10 * time.Second

// clockSet says that the clock went another way than the time that passed since the last fact. What is recorded next carries
// the new time.
func (rec *recorder) clockSet() (recovery.RunNoted, bool) {
	step := rec.p.Now().Sub(rec.steady()).Round(time.Millisecond)
	going := rec.state.Status == recovery.StatusRunning || rec.state.Status == recovery.StatusWaiting
	if !going || step.Abs() < clockSlack {
		return recovery.RunNoted{}, false
	}
	text := fmt.Sprintf("the clock went back by %s", (-step).Round(time.Second))
	if step > 0 {
		text = fmt.Sprintf("the clock went ahead by %s: it was set, or the machine slept", step.Round(time.Second))
	}
	return recovery.RunNoted{Text: text + "; limits and waits count what has passed without that", Clock: step}, true
}

// steady is the time by the clock as it stood at the last fact: what waits and limits are held against.
func (rec *recorder) steady() time.Time { return rec.seen.date.Add(time.Since(rec.seen.at)) }
