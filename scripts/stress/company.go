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

	"agent/scripts/ci/red"
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
	failures, err := red.Parse(f.reds, string(text))
	if err != nil {
		return 2, err
	}

	left, err := s.again(ctx, failures, f.shaky)
	err = errors.Join(err, s.keep(f.out, left))
	switch {
	case err != nil:
		return 2, err
	case len(left) > 0:
		return 1, nil
	}
	return 0, nil
}

// keep writes what stays red to a file, or to standard output.
func (s *stress) keep(file string, failures []red.Failure) error {
	text, err := red.Encode(failures)
	if err != nil {
		return fmt.Errorf("write what stays red: %w", err)
	}
	if file == "" {
		_, err = s.stdout.Write(text)
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// again tries failures, and returns those that stay red. With an error, these are all on which
// nothing was decided, too.
func (s *stress) again(ctx context.Context, failures []red.Failure, shakyFile string) ([]red.Failure, error) {
	shaky, err := s.shaky(shakyFile)
	if err != nil {
		return failures, err
	}
	if len(failures) == 0 {
		return nil, nil
	}
	since, err := change.Find(s.root)
	if err != nil {
		return failures, err
	}

	var left []red.Failure
	for i, read := range failures {
		failure := read
		if failure.Package != "" {
			failure.Package = s.folder(failure.Package)
		}

		reason := company.Refuse(failure, touched(since, failure.Package), shaky)
		if reason == "" {
			if reason, err = s.tryAgain(ctx, failure); err != nil {
				return append(left, failures[i:]...), err
			}
		}
		if reason != "" {
			fmt.Fprintf(s.stderr, "red: %s: %s\n", failure, reason)
			left = append(left, read)
			continue
		}

		line := company.Except(failure, since.Base)
		fmt.Fprintf(s.stderr, "shaky: %s\n", line)
		shaky = append(shaky, line)
	}
	return left, nil
}

// touched reports whether a change has a file of a package, or the list of the modules that any
// package may import.
func touched(since change.Change, folder string) bool {
	return slices.Contains(since.Packages(), folder) || slices.Contains(since.Files, "go.mod") || slices.Contains(since.Files, "go.sum")
}

// tryAgain runs a test alone and, if it passes, under load. It returns why the test stays red, or
// "".
func (s *stress) tryAgain(ctx context.Context, failure red.Failure) (string, error) {
	work, err := os.MkdirTemp("", "stress-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	test := pick.Test{Package: failure.Package, Name: failure.Test}
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

// withOutput adds what a test printed to the reason for which it stays red. It is indented: .ci/run
// takes each line that begins with "shaky: " for an exception.
func withOutput(reason string, r trial.Result) string {
	if reason == "" || len(r.Output) == 0 {
		return reason
	}
	output := bytes.TrimRight(r.Output, "\n")
	return reason + "\n    " + string(bytes.ReplaceAll(output, []byte("\n"), []byte("\n    ")))
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
