//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agent/scripts/landed/change"
	"agent/scripts/stress/pick"
	"agent/scripts/stress/trial"
)

// choice is what a call runs.
type choice struct {
	tests []pick.Test
	named bool   // by the caller, who wants each of them
	base  string // what the change was compared with, else
}

// choose finds the tests that the arguments name, or those of the change.
func (s *stress) choose(ctx context.Context, args []string) (choice, error) {
	if len(args) > 0 {
		tests, err := s.named(ctx, args)
		return choice{tests: tests, named: true}, err
	}

	since, err := change.Find(s.root)
	if err != nil {
		return choice{}, err
	}
	tests, err := pick.Changed(s.root, since.Files, since.Was)
	if err != nil {
		return choice{}, fmt.Errorf("find the tests that changed: %w", err)
	}

	here := tests[:0]
	built := map[string]map[string]bool{}
	for _, test := range tests {
		if built[test.Package] == nil {
			if built[test.Package], err = trial.Built(ctx, s.root, test.Package); err != nil {
				return choice{}, err
			}
		}
		if function, _, _ := strings.Cut(test.Name, "/"); built[test.Package][function] {
			here = append(here, test)
		} else {
			fmt.Fprintf(s.stderr, "%s: not built on this system\n", test)
		}
	}
	return choice{tests: here, base: since.Base[:min(8, len(since.Base))]}, nil
}

// named are the tests of a command line: packages, each before its tests.
func (s *stress) named(ctx context.Context, args []string) ([]pick.Test, error) {
	isTest := regexp.MustCompile(`^(Test|Fuzz|Example)([^a-z]|$)`)
	var tests []pick.Test
	for i := 0; i < len(args); {
		folder := s.folder(args[i])
		if isTest.MatchString(args[i]) {
			return nil, fmt.Errorf("%s is a test and has no package in front", args[i])
		}
		built, err := trial.Built(ctx, s.root, folder)
		if err != nil {
			return nil, err
		}

		var names []string
		for i++; i < len(args) && isTest.MatchString(args[i]); i++ {
			names = append(names, args[i])
		}
		if len(names) == 0 {
			for name := range built {
				names = append(names, name)
			}
			slices.Sort(names)
		}

		if len(names) == 0 {
			return nil, fmt.Errorf("the package %s has no tests on this system", folder)
		}
		for _, name := range names {
			if function, _, _ := strings.Cut(name, "/"); !built[function] {
				return nil, fmt.Errorf("the package %s has no %s on this system", folder, function)
			}
			tests = append(tests, pick.Test{Package: folder, Name: name})
		}
	}
	return tests, nil
}

// folder is the folder of a package that is named by it or by its import path.
func (s *stress) folder(name string) string {
	text, err := os.ReadFile(filepath.Join(s.root, "go.mod"))
	module := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(text)
	if err == nil && module != nil {
		if below, ok := strings.CutPrefix(name, string(module[1])+"/"); ok {
			return path.Clean(below)
		}
	}
	return path.Clean(name)
}
