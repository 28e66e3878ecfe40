//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agent/scripts/landed/change"
	"agent/scripts/stress/company"
	"agent/scripts/stress/pick"
	"agent/scripts/stress/trial"
)

// files are those that a call with -company reads and writes.
type files struct {
	reds  string // what failed
	shaky string // which tests were excepted before
	out   string // what is still red; "" is standard output
}

// inCompany tries again what failed among all other tests, and writes what stays red. What was not
// looked at stays red.
func (s *stress) inCompany(ctx context.Context, f files) (int, error) {
	text, err := os.ReadFile(f.reds)
	if err != nil {
		return 2, err
	}
	reds, err := company.Reds(f.reds, text)
	if err != nil {
		return 2, err
	}
	for i := range reds {
		if reds[i].Package != "" {
			reds[i].Package = s.folder(reds[i].Package)
		}
	}

	left, err := s.again(ctx, reds, f.shaky)
	if f.out == "" {
		_, err2 := s.stdout.Write(company.Write(left))
		err = errors.Join(err, err2)
	} else {
		err = errors.Join(err, os.WriteFile(f.out, company.Write(left), 0o644))
	}
	switch {
	case err != nil:
		return 2, err
	case len(left) > 0:
		return 1, nil
	}
	return 0, nil
}

// again tries failures, and returns those that stay red. With an error, these are all on which
// nothing was decided, too.
func (s *stress) again(ctx context.Context, reds []company.Red, shakyFile string) ([]company.Red, error) {
	shaky, err := s.shaky(shakyFile)
	if err != nil {
		return reds, err
	}
	if len(reds) == 0 {
		return nil, nil
	}
	since, err := change.Find(s.root)
	if err != nil {
		return reds, err
	}
	packages := since.Packages()

	var left []company.Red
	for i, red := range reds {
		reason := company.Refuse(red, slices.Contains(packages, red.Package), shaky)
		if reason == "" {
			if reason, err = s.tryAgain(ctx, red); err != nil {
				return append(left, reds[i:]...), err
			}
		}
		if reason != "" {
			fmt.Fprintf(s.stderr, "red: %s: %s\n", red, reason)
			left = append(left, red)
			continue
		}

		line := red.Except(since.Base)
		fmt.Fprintf(s.stderr, "shaky: %s\n", line)
		shaky = append(shaky, line)
	}
	return left, nil
}

// tryAgain runs a test alone and, if it passes, under load. It returns why the test stays red, or
// "".
func (s *stress) tryAgain(ctx context.Context, red company.Red) (string, error) {
	work, err := os.MkdirTemp("", "stress-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	test := pick.Test{Package: red.Package, Name: red.Test}
	built, err := s.build(ctx, []pick.Test{test}, work)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return err.Error(), nil // it failed, and cannot be tried
	}
	series := built[0].Series

	// A run that uses more than its share is ended: as many do not fit in the limit.
	if _, err := series.Go(ctx, []trial.Repeat{trial.Alone()}, s.company.limit/time.Duration(s.company.tries)); err != nil {
		return "", err
	}
	if reason := company.AfterAlone(series.Last(), s.company.tries, s.company.limit); reason != "" {
		return withOutput(reason, series.Last()), nil
	}

	loaded := &trial.Series{Binary: series.Binary, Name: series.Name, Conditions: series.Conditions}
	err = s.beside(func() error {
		_, err := loaded.Go(ctx, trial.Repeats(s.company.tries), s.company.limit)
		return err
	})
	if err != nil {
		return "", err
	}
	reason := company.AfterLoad(loaded.Results, s.company.tries, s.company.limit)
	return withOutput(reason, loaded.Last()), nil
}

// withOutput adds what a test printed to the reason for which it stays red.
func withOutput(reason string, r trial.Result) string {
	if reason == "" || len(r.Output) == 0 {
		return reason
	}
	return reason + "\n" + string(bytes.TrimRight(r.Output, "\n"))
}

// shaky reads the tests that were excepted before; without the file there are none.
func (s *stress) shaky(name string) ([]company.Line, error) {
	text, err := os.ReadFile(filepath.Join(s.root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return company.Shaky(name, string(text), func(folder, test string) (bool, error) {
		return pick.Exists(s.root, pick.Test{Package: folder, Name: test})
	})
}
