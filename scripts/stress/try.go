//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"agent/scripts/stress/pick"
	"agent/scripts/stress/trial"
)

// errNothing is the reason of a call that ended well and tried nothing.
var errNothing = errors.New("nothing ran")

// tried is the runs of one test.
type tried struct {
	test pick.Test
	*trial.Series

	left string // why it did not run as often as it was to
}

// try runs the tests and reports what became of them.
func (s *stress) try(ctx context.Context, chosen choice) (int, error) {
	work, err := os.MkdirTemp("", "stress-")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(work)

	all, err := s.build(ctx, chosen.tests, work)
	if err != nil {
		return 2, err
	}

	failed := false
	err = s.beside(func() error {
		if s.limit == 0 {
			failed, err = s.each(ctx, all)
		} else {
			failed, err = s.within(ctx, all)
		}
		return err
	})

	if failed {
		return 1, err
	}
	if err == nil {
		err = complete(all, chosen.named)
	}
	if err != nil {
		return 2, err
	}
	return 0, nil
}

// build builds the binary of each package once.
func (s *stress) build(ctx context.Context, tests []pick.Test, into string) ([]*tried, error) {
	binaries := map[string]trial.Binary{}
	var all []*tried
	for _, test := range tests {
		b, ok := binaries[test.Package]
		if !ok {
			var err error
			if b, err = trial.Build(ctx, s.root, test.Package, into, s.race); err != nil {
				return nil, err
			}
			binaries[test.Package] = b
		}
		all = append(all, &tried{test: test, Series: &trial.Series{Binary: b, Name: test.Name, Conditions: trial.Conditions{Timeout: s.timeout}}})
	}
	return all, nil
}

// each runs every test as often as asked for. It reports whether one failed.
func (s *stress) each(ctx context.Context, all []*tried) (failed bool, err error) {
	for _, one := range all {
		if _, err := one.Go(ctx, trial.Repeats(s.n), 0); err != nil {
			return failed, err
		}
		failed = s.report(one, len(all) > 1) || failed
	}
	return failed, nil
}

// within runs every test once, and then, the cheapest first, as many as often as the limit allows.
func (s *stress) within(ctx context.Context, all []*tried) (failed bool, err error) {
	repeats := trial.Repeats(s.n)
	share := s.limit / time.Duration(s.n) // who uses more in one run does not fit n times

	began := time.Now()
	late := func() bool { return s.clock > 0 && time.Since(began) >= s.clock }

	var spent time.Duration
	var open []*tried
	for _, one := range all {
		if spent >= s.limit || late() {
			one.left = "not even run once"
			continue
		}
		more, err := one.Go(ctx, repeats[:1], share)
		if err != nil {
			return failed, err
		}

		spent += one.CPU
		switch {
		case one.Last().Outcome == trial.TooDear:
			one.left = fmt.Sprintf("one run uses more than %v of processor time", share)
		case more:
			open = append(open, one)
		default:
			failed = s.report(one, len(all) > 1) || failed
		}
	}

	slices.SortStableFunc(open, func(a, b *tried) int { return cmp.Compare(a.CPU, b.CPU) })
	for _, one := range open {
		before := one.CPU
		if !trial.Fits(spent, before, s.n-1, s.limit) {
			one.left = fmt.Sprintf("run once, which used %v of processor time", before)
			continue
		}
		if late() {
			one.left = fmt.Sprintf("run once, as %v are over", s.clock)
			continue
		}

		if _, err := one.Go(ctx, repeats[1:], 0); err != nil {
			return failed, err
		}
		spent += one.CPU - before
		failed = s.report(one, len(all) > 1) || failed
	}

	for _, one := range all {
		if one.left != "" {
			fmt.Fprintf(s.stdout, "left out: %s: %s\n", one.test, one.left)
		}
	}
	return failed, nil
}

// report prints what became of a test, and reports whether it failed.
func (s *stress) report(one *tried, several bool) bool {
	name := one.test.Name
	if several {
		name = one.test.String()
	}

	last := one.Last()
	switch {
	case last.Outcome == trial.Failed:
		fmt.Fprintf(s.stdout, "%s: failed in run %d of %d (%s)\n%s\n", name, last.Repeat.Number, s.n, last.Repeat, bytes.TrimRight(last.Output, "\n"))
		fmt.Fprintf(s.stdout, "again: go run ./scripts/stress -n %d ./%s '%s'\n", s.n, one.test.Package, one.test.Name)
		return true
	case last.Outcome == trial.Missing:
		fmt.Fprintf(s.stdout, "%s: nothing ran: the binary has no test of this name\n%s\n", name, bytes.TrimRight(last.Output, "\n"))
	case one.Count(trial.Skipped) == len(one.Results):
		fmt.Fprintf(s.stdout, "%s: not tried: it skips itself\n%s\n", name, bytes.TrimRight(last.Output, "\n"))
	case one.Count(trial.Skipped) > 0:
		fmt.Fprintf(s.stdout, "%s: %d of %d, and skipped itself in %d\n", name, one.Count(trial.Passed), s.n, one.Count(trial.Skipped))
	default:
		fmt.Fprintf(s.stdout, "%s: %d of %d\n", name, one.Count(trial.Passed), s.n)
	}

	if missed := one.NotHalted(); missed > 0 {
		fmt.Fprintf(s.stderr, "%s: %d runs ended before they could be stopped\n", name, missed)
	}
	return false
}

// complete returns the reason for which tests of which none failed have not passed.
func complete(all []*tried, named bool) error {
	passed := func(one *tried) bool { return one.Count(trial.Passed) > 0 }
	if named && !slices.ContainsFunc(all, passed) {
		return errNothing
	}
	for _, one := range all {
		if one.left != "" {
			continue
		}
		if one.Count(trial.Missing) > 0 {
			return fmt.Errorf("%s: %w", one.test, errNothing)
		}
		if named && one.Count(trial.Skipped) > 0 {
			return fmt.Errorf("%s skips itself: %w", one.test, errNothing)
		}
	}
	return nil
}
