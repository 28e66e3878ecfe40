// Package trial runs one test again and again under changing conditions.
package trial

import (
	"fmt"
	"time"
)

// StopTime is how long a process group is stopped: long enough that what counts on a deadline of a
// second misses it.
const StopTime = 2 * time.Second

// Repeat is one run of a test among several.
type Repeat struct {
	Number  int // from 1
	Procs   int // GOMAXPROCS, or 0 where it is as it is
	Stopped bool
}

// Repeats plans n runs: a third of them as the machine has it, a third on one processor, a third on
// four; every tenth is stopped on its way. The thirds take turns, so that each is tried early, and
// ten has no factor in common with three, so that each is stopped.
func Repeats(n int) []Repeat {
	procs := []int{0, 1, 4}
	all := make([]Repeat, 0, n)
	for i := range n {
		all = append(all, Repeat{Number: i + 1, Procs: procs[i%len(procs)], Stopped: (i+1)%10 == 0})
	}
	return all
}

// Alone is the one run of a test that is tried without load.
func Alone() Repeat { return Repeat{Number: 1} }

// String is how the run differs from a plain one.
func (r Repeat) String() string {
	form := "plain"
	if r.Procs > 0 {
		form = fmt.Sprintf("GOMAXPROCS=%d", r.Procs)
	}
	if r.Stopped {
		form += fmt.Sprintf(", stopped for %v", StopTime)
	}
	return form
}

// stopAfter is when a run is stopped, by the shortest run so far: at a quarter, a half or three
// quarters of it.
func (r Repeat) stopAfter(shortest time.Duration) time.Duration {
	return shortest * time.Duration(r.Number/10%3+1) / 4
}

// Fits reports whether n more runs that use as much processor time as one did are within a limit. A
// limit of 0 is none.
func Fits(spent, one time.Duration, n int, limit time.Duration) bool {
	return limit == 0 || spent+one*time.Duration(n) <= limit
}
