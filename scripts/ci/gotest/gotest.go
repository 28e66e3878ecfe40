// Package gotest reads what `go test -json` prints, prints what go test prints without -json, and
// keeps what failed.
package gotest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"agent/scripts/ci/red"
)

// event is a line of `go test -json` (go doc test2json, go help buildjson).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of the lines of a build
	Test        string
	Output      string
	FailedBuild string // the ImportPath of the build because of which a package fails
}

// Reader follows one run of go test.
type Reader struct {
	Out    io.Writer
	Module string // its path, which the folders of packages are shown without

	builds   map[string][]string
	packages map[string]*result
	failures []Failure
}

// Failure is a test that failed, or a package outside of its tests.
type Failure struct {
	Package string // its folder, slash-separated; "." is the root of the module
	Test    string // its name without those of subtests, but TestScripts/NAME; "" if it is the package
	Sub     string // the one subtest that failed, if it was only one
	Output  string // what the test and its subtests printed
	Why     string // of a package of which not all tests ran
}

// scripts is the test whose subtests are tests of their own: each is a script, a file.
const scripts = "TestScripts"

// longest is how much of a test's output is kept.
const longest = 10_000

// result is what is known of a package that runs.
type result struct {
	lines []string          // outside of tests
	tests map[string]*trial // by full name
	order []string
}

// trial is one test or subtest.
type trial struct {
	lines         []string
	failed, ended bool
	paused        bool
}

// Read reads events to their end. It returns what failed, in the order in which it was seen. Lines
// that are no events are printed as they are.
func (r *Reader) Read(in io.Reader) ([]Failure, error) {
	r.builds, r.packages = map[string][]string{}, map[string]*result{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := r.line(line); err != nil {
				return r.failures, err
			}
		}
		if errors.Is(err, io.EOF) {
			return r.failures, r.cutOff()
		}
		if err != nil {
			return r.failures, fmt.Errorf("read what go test prints: %w", err)
		}
	}
}

func (r *Reader) line(line []byte) error {
	var e event
	if line[0] != '{' || json.Unmarshal(line, &e) != nil || e.Action == "" {
		_, err := r.Out.Write(line)
		return err
	}
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		_, err := io.WriteString(r.Out, e.Output)
		return err
	case "build-fail":
		return nil
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &result{tests: map[string]*trial{}}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		return r.ofPackage(p, e)
	}
	p.ofTest(e)
	return nil
}

// ofPackage follows a package, and shows it when it ends.
func (r *Reader) ofPackage(p *result, e event) error {
	switch e.Action {
	case "output":
		p.lines = append(p.lines, e.Output)
	case "pass", "skip":
		delete(r.packages, e.Package)
		return r.print(summary(p.lines))
	case "fail":
		delete(r.packages, e.Package)
		r.failures = append(r.failures, p.failures(r.folder(e.Package))...)
		return r.print(append(p.failedLines(), p.lines...))
	}
	return nil
}

// ofTest follows a test. What a test printed that has passed is of no interest.
func (p *result) ofTest(e event) {
	t := p.tests[e.Test]
	if t == nil {
		t = &trial{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		if !progress(e.Output) {
			t.lines = append(t.lines, e.Output)
		}
	case "pause":
		t.paused = true
	case "cont":
		t.paused = false
	case "pass", "skip":
		t.ended, t.lines = true, nil
	case "fail":
		t.ended, t.failed = true, true
	}
}

// progress reports whether the line only shows that a test begins or goes on.
func progress(line string) bool {
	for _, head := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return false
}

// summary is the line that go test prints of a package that passes, or that has no tests.
func summary(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return !strings.HasPrefix(line, "ok  ") && !strings.HasPrefix(line, "?   ")
	})
}

// failedLines are what the tests printed that failed or never ended, and what came after the
// verdict of one that passed. The line with the verdict is the first, as go test has it.
func (p *result) failedLines() []string {
	var lines []string
	for _, name := range p.order {
		var verdicts, rest []string
		for _, line := range p.tests[name].lines {
			switch depth := strings.Repeat("    ", strings.Count(name, "/")); {
			case strings.HasPrefix(line, "--- FAIL: "):
				verdicts = append(verdicts, depth+line)
			case strings.HasPrefix(line, "    "): // a line of the log
				rest = append(rest, depth+line)
			default:
				rest = append(rest, line)
			}
		}
		lines = append(append(lines, verdicts...), rest...)
	}
	return lines
}

// cutOff is why a package fails whose process ended before its tests did.
const cutOff = "its process ended before its tests: some may never have run"

// failures are the tests that failed. If the process ended before its tests did (a panic, a
// deadline), those that were running are among them, and so is the package: whoever tries one of
// the tests again has not tried those behind it. A package in which no test failed is a failure of
// its own.
func (p *result) failures(folder string) []Failure {
	var failed, running []string
	for _, name := range p.order {
		if t := p.tests[name]; t.failed {
			failed = append(failed, name)
		} else if !t.ended && !t.paused {
			running = append(running, name)
		}
	}
	if len(failed) == 0 || p.outOfTime() {
		failed = append(failed, running...)
	}
	if len(failed) == 0 {
		return []Failure{{Package: folder}}
	}

	subs := map[string][]string{} // of each test, those right below it
	var names []string
	for _, name := range failed {
		top, sub, _ := strings.Cut(name, "/")
		if sub, _, _ = strings.Cut(sub, "/"); sub != "" && !slices.Contains(subs[top], sub) {
			subs[top] = append(subs[top], sub)
		}
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}

	var found []Failure
	for _, name := range names {
		if name == scripts && len(subs[name]) > 0 {
			for _, sub := range subs[name] {
				name := name + "/" + sub
				found = append(found, Failure{Package: folder, Test: name, Output: p.output(name)})
			}
			continue
		}
		f := Failure{Package: folder, Test: name, Output: p.output(name)}
		if len(subs[name]) == 1 {
			f.Sub = subs[name][0]
		}
		found = append(found, f)
	}
	if !p.cameToItsEnd() {
		found = append(found, Failure{Package: folder, Why: cutOff})
	}
	return found
}

// cameToItsEnd reports whether the process printed its verdict on all tests, which is the last that
// it does.
func (p *result) cameToItsEnd() bool { return slices.Contains(p.lines, "FAIL\n") }

// output is the beginning of what a test and those below it printed.
func (p *result) output(test string) string {
	var text strings.Builder
	for _, name := range p.order {
		if name == test || strings.HasPrefix(name, test+"/") {
			text.WriteString(strings.Join(p.tests[name].lines, ""))
		}
	}
	return strings.ToValidUTF8(text.String()[:min(text.Len(), longest)], "?")
}

// outOfTime reports whether go test's own deadline ended the process.
func (p *result) outOfTime() bool {
	late := func(line string) bool { return strings.HasPrefix(line, "panic: test timed out after ") }
	if slices.ContainsFunc(p.lines, late) {
		return true
	}
	for _, t := range p.tests {
		if slices.ContainsFunc(t.lines, late) {
			return true
		}
	}
	return false
}

// cutOff makes failures of the packages that never ended: go test itself was killed.
func (r *Reader) cutOff() error {
	var names []string
	for name, p := range r.packages {
		if len(p.tests)+len(p.lines) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p := r.packages[name]
		r.failures = append(r.failures, p.failures(r.folder(name))...)
		if err := r.print(append(append(p.failedLines(), p.lines...), "FAIL\t"+name+" [did not end]\n")); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) folder(name string) string {
	name, _, _ = strings.Cut(name, " ") // "agent/x [agent/x.test]"
	if name == r.Module {
		return "."
	}
	return strings.TrimPrefix(name, r.Module+"/")
}

func (r *Reader) print(lines []string) error {
	_, err := io.WriteString(r.Out, strings.Join(lines, ""))
	return err
}

// Reds makes of failures what .ci/run ends with. The command begins with prefix, which is how tests
// are run there.
func Reds(step, prefix string, failures []Failure) []red.Failure {
	var reds []red.Failure
	for _, f := range failures {
		reds = append(reds, red.Failure{Step: step, Package: f.Package, Test: f.Test, Output: f.Output, Command: f.command(prefix), Why: f.Why})
	}
	return reds
}

// command repeats a failure alone.
func (f Failure) command(prefix string) string {
	command := prefix
	if f.Test != "" {
		top, sub, _ := strings.Cut(f.Test, "/")
		pattern := "^" + top + "$"
		if sub = cmp.Or(sub, f.Sub); sub != "" {
			pattern += "/^" + regexp.QuoteMeta(sub) + "$"
		}
		command += " -run '" + strings.ReplaceAll(pattern, "'", `'\''`) + "'"
	}
	if f.Package == "." {
		return command + " ."
	}
	return command + " ./" + f.Package
}
