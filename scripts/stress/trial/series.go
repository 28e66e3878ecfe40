//go:build linux

package trial

import (
	"context"
	"fmt"
	"time"
)

// Series is the runs of one test.
type Series struct {
	Binary Binary
	Name   string
	Conditions

	Results  []Result
	CPU      time.Duration
	shortest time.Duration
}

// Go runs some of the repeats, and ends at the first that failed. It reports whether to go on: a
// test that leaves itself out in its first run does so in all. A limit of the processor time of the
// series, if it is not 0, ends the run in which it is reached.
func (s *Series) Go(ctx context.Context, repeats []Repeat, limit time.Duration) (bool, error) {
	for _, r := range repeats {
		cond := s.Conditions
		if limit > 0 {
			cond.Dearest = limit - s.CPU
			if cond.Dearest <= 0 {
				s.Results = append(s.Results, Result{Outcome: TooDear, Repeat: r})
				return false, nil
			}
		}
		result, err := s.Binary.Run(ctx, s.Name, r, r.stopAfter(s.shortest), cond)
		if err != nil {
			return false, fmt.Errorf("run %s: %w", s.Name, err)
		}

		s.Results = append(s.Results, result)
		s.CPU += result.CPU
		if result.Outcome != Passed && (result.Outcome != Skipped || r.Number == 1) {
			return false, nil
		}
		if s.shortest == 0 || result.Clock < s.shortest {
			s.shortest = result.Clock
		}
	}
	return true, nil
}

// Last is the newest result.
func (s *Series) Last() Result { return s.Results[len(s.Results)-1] }

// Count is how many runs ended so.
func (s *Series) Count(o Outcome) int {
	n := 0
	for _, r := range s.Results {
		if r.Outcome == o {
			n++
		}
	}
	return n
}

// NotHalted is how many runs ended before they could be stopped.
func (s *Series) NotHalted() int {
	n := 0
	for _, r := range s.Results {
		if r.Repeat.Stopped && !r.Halted {
			n++
		}
	}
	return n
}
