// Package company decides what becomes of a test that failed among all others, in a run of .ci/run.
//
// A red stays red. The one exception is a test that depends on what else the machine does, in a
// package that nobody has touched: it passes alone, and it passes each of Tries times under load.
// What the package imports of this module may have changed; what it may import of others, by
// go.mod, may not. It does not hold up its landing, and leaves a line that becomes one of
// scripts/shaky.txt. As long as that line is there the test has no second exception, and with three
// such lines no test has.
package company

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"agent/scripts/ci/red"
	"agent/scripts/stress/trial"
)

// Tries is how often a test has to pass under load, and Limit the processor time that these runs
// may use: what cannot be repeated for less is not repeated.
const (
	Tries = 20
	Limit = 300 * time.Second
)

// mostShaky is how many lines scripts/shaky.txt may have before nothing is tried again.
const mostShaky = 3

// step is the step of .ci/run whose tests are tried again.
const step = "tests"

// finder is a sort of tests that look for what nobody has thought of: a failure is a find, and that
// it does not come back proves nothing.
type finder struct {
	sort    string
	folder  string // the package, or one above it
	pattern string // of the name
}

func finders() []finder {
	return []finder{
		{"fuzz", "", `^Fuzz`},
		{"a lab", "scripts/crashlab", ``},
		{"a lab", "host/fleet/lab", ``},
		{"drawn histories", "recovery", `^TestAnyHistory`},
		{"drawn histories", "recovery/flow", `^TestStoriesKeepThePromises$`},
		{"drawn histories", "recovery/workspace", `^TestRewindsOfRandomWorlds$`},
		{"a differential", "", `As(Git|TheShell)|AgainstGit|^TestGitApplies$|^TestShellsTell$`},
	}
}

// Refuse returns why a failure is not tried again, or "" if it may be. Changed reports whether the
// package of the test, or go.mod, has changed since the last landing. Shaky are the tests that were
// excepted before.
func Refuse(failure red.Failure, changed bool, shaky []Line) string {
	if failure.Step != step {
		return "only tests of the step " + step + " are tried again"
	}
	if failure.Package == "" || failure.Test == "" {
		return "no single test failed"
	}

	for _, f := range finders() {
		in := f.folder == "" || failure.Package == f.folder || strings.HasPrefix(failure.Package, f.folder+"/")
		if in && regexp.MustCompile(f.pattern).MatchString(failure.Test) {
			return "what " + f.sort + " finds is not tried again"
		}
	}

	if changed {
		return "its package, or go.mod, has changed since the last landing"
	}
	for _, line := range shaky {
		if line.covers(failure) {
			return fmt.Sprintf("it was excepted at %s and has not been repaired", line.Base)
		}
	}
	if len(shaky) >= mostShaky {
		return fmt.Sprintf("%d tests were excepted and have not been repaired", len(shaky))
	}
	return ""
}

// AfterAlone returns why a test that was run once without load stays red, or "" if it is to be run
// under load.
func AfterAlone(r trial.Result, tries int, limit time.Duration) string {
	switch r.Outcome {
	case trial.Failed:
		return "it fails alone"
	case trial.Skipped:
		return "alone it skips itself"
	case trial.Missing:
		return "alone nothing ran"
	}
	if r.Outcome == trial.TooDear || !trial.Fits(0, r.CPU, tries, limit) {
		return tooDear(tries, limit)
	}
	return ""
}

// AfterLoad returns why a test that was run under load stays red, or "" if it is excepted.
func AfterLoad(results []trial.Result, tries int, limit time.Duration) string {
	for i, r := range results {
		switch r.Outcome {
		case trial.Failed:
			return fmt.Sprintf("it fails under load, in run %d of %d (%s)", i+1, tries, r.Repeat)
		case trial.Skipped, trial.Missing:
			return fmt.Sprintf("under load nothing ran, in run %d of %d (%s)", i+1, tries, r.Repeat)
		case trial.TooDear:
			return tooDear(tries, limit)
		}
	}
	if len(results) != tries {
		return fmt.Sprintf("it was run %d times of %d", len(results), tries)
	}
	return ""
}

func tooDear(tries int, limit time.Duration) string {
	return fmt.Sprintf("%d runs do not fit in %v of processor time", tries, limit)
}
