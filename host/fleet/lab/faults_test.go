package lab_test

import (
	"fmt"
	"testing"
	"time"

	"agent/fleet/lab"
)

// Two drivers in a row end themselves where they have recorded something and not said it to the
// log, or have said it and not done it. The third one brings the run to its end.
func TestDriversThatEndAtTheirWitness(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	h := l.Host("h-01", "--agent", l.FaultyAgent())
	const drivers = 2
	for _, point := range []string{"witness.before", "witness.after"} {
		for pass := 1; pass <= 3; pass++ {
			at := fmt.Sprintf("%s:%d", point, pass)
			t.Run(at, func(t *testing.T) {
				name := fmt.Sprintf("%s-%d", point, pass)
				l.Arm(at, drivers)
				id := l.Begin(name, []string{"true", "true", "true", "true"})
				r := l.Until(id, "waiting or ended", 2*time.Minute, lab.Run.Rests)
				if r.Status != "completed" || r.Exit != 0 || len(r.Unknown) > 0 {
					t.Errorf("it ended as %+v", r)
				}
				if n := l.Armed(); n > 0 {
					t.Errorf("%d of %d drivers did not end themselves", n, drivers)
				}
				if n := h.Facts(id)["run.claimed"]; n != drivers+1 {
					t.Errorf("%d drivers claimed it: %v", n, h.Facts(id))
				}
				l.Once(name, 1, 2, 3, 4)
			})
		}
	}
}
