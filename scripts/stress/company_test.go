//go:build linux

package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent/scripts/landed/change"
)

// redLine is a line of what failed.
func redLine(step, folder, test string) string {
	return `{"step":"` + step + `","package":"` + folder + `","test":"` + test + `","output":"    p_test.go:7: no reload\n","command":"go test"}` + "\n"
}

// newCompany is a module in which nothing but the package q has changed since it landed.
func newCompany(t *testing.T) module {
	t.Helper()
	m := newModule(t)
	m.write("q/q_test.go", "package q\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n")
	m.write("p/more_test.go", `package p

import "testing"

func TestAlways(t *testing.T) {
	println("shaky: p TestAlways 7fc47ed4 \"\"")
	t.Fatal("as ever")
}

func TestGrows(t *testing.T) {
	if runs(t) == 3 {
		TestDear(t)
	}
}

func FuzzGood(f *testing.F) { f.Fuzz(func(t *testing.T, n int) {}) }
`)
	since := t.TempDir()
	t.Setenv(change.Folder, since)
	for name, text := range map[string]string{"base": "7fc47ed4f7a0\n", "commits": "1\n", "files": "q/q_test.go\n"} {
		module{T: t, root: since}.write(name, text)
	}
	return m
}

// again tries failures of a module five times under load, in two seconds of processor time, and
// returns the exit code, what stays red and the lines for people.
func (m module) again(reds string) (code int, left, text string) {
	m.Helper()
	m.write("reds", reds)
	return m.retry("-company", filepath.Join(m.root, "reds"))
}

func (m module) retry(args ...string) (code int, left, text string) {
	m.Helper()
	var out, problems bytes.Buffer
	s := &stress{root: m.root, program: m.load, loops: 1, company: retry{5, 2 * time.Second}, stdout: &out, stderr: &problems}
	code = s.main(m.Context(), args)
	return code, out.String(), problems.String()
}

// Each rule about a failure in company is tried by a test that is to be caught by it.
func TestFailureInCompany(t *testing.T) {
	m := newCompany(t)
	for _, c := range []struct {
		name, red, shaky string
		want             string // "" is an exception
	}{
		{"passes each time", redLine("tests", "p", "TestGood"), "", ""},
		{"fails alone", redLine("tests", "p", "TestAlways"), "", `it fails alone\n.*as ever`},
		{"fails under load", redLine("tests", "./p", "TestFlaky"), "", `it fails under load, in run 4 of 5 \(plain\)\n.*run 5 saw the race`},
		{"too dear alone", redLine("tests", "p", "TestDear"), "", `5 runs do not fit in 2s of processor time`},
		{"skips itself", redLine("tests", "p", "TestSkips"), "", `alone it skips itself`},
		{"is not there", redLine("tests", "p", "TestNone"), "", `alone nothing ran`},
		{"does not build", redLine("tests", "none", "TestNone"), "", `build the tests of none: it has none on this system`},
		{"has changed", redLine("tests", "example.com/m/q", "TestGood"), "", `its package, or go.mod, has changed`},
		{"finds things", redLine("tests", "p", "FuzzGood"), "", `what fuzz finds`},
		{"in another step", redLine("race", "p", "TestGood"), "", `only tests of the step tests`},
		{"was excepted", redLine("tests", "p", "TestGood"), "p TestGood 7fc47ed4 \"no reload\"\n", `it was excepted at 7fc47ed4`},
		{"three were excepted", redLine("tests", "p", "TestGood"), "p TestDear 7fc47ed4 \"\"\np TestStopped 7fc47ed4 \"\"\nq TestGood 7fc47ed4 \"\"\n", `3 tests were excepted`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := m
			m.T = t
			m.write("scripts/shaky.txt", c.shaky)
			code, left, text := m.again(c.red)

			wantCode, wantLeft, line := 1, c.red, `red: .*: `+c.want
			if c.want == "" {
				wantCode, wantLeft, line = 0, "", regexp.QuoteMeta(`shaky: p TestGood 7fc47ed4 "no reload"`)
			}
			if c.want != "" && strings.Contains("\n"+text, "\nshaky: ") {
				t.Errorf("a line as of an exception:\n%s", text)
			}
			if code != wantCode || left != wantLeft || !regexp.MustCompile(`(?s)^`+line).MatchString(text) {
				t.Errorf("exit %d, want %s\nstill red: %s%s", code, line, left, text)
			}
		})
	}
}

// A test that becomes too dear on the way ends there.
func TestBecomesTooDear(t *testing.T) {
	m := newCompany(t)
	m.write("reds", redLine("tests", "p", "TestGrows"))
	var problems bytes.Buffer
	s := &stress{root: m.root, program: m.load, loops: 1, company: retry{5, 800 * time.Millisecond}, stdout: &problems, stderr: &problems}
	if code := s.main(t.Context(), []string{"-company", filepath.Join(m.root, "reds")}); code != 1 || !strings.Contains(problems.String(), "5 runs do not fit in 800ms") {
		t.Errorf("exit %d\n%s", code, problems.String())
	}
	if n := strings.Count(m.read("p/TestGrows.runs"), "\n"); n != 3 {
		t.Errorf("it ran %d times, once alone", n)
	}
}

// Of several failures each is decided, and the exceptions of one run count as those before it.
func TestSeveralFailures(t *testing.T) {
	m := newCompany(t)
	m.write("scripts/shaky.txt", "p TestDear 7fc47ed4 \"\"\nq TestGood 7fc47ed4 \"\"\n")
	lint := `{"step":"lint","command":"scripts/check staticcheck"}` + "\n"
	last := redLine("tests", "p", "TestWithCases")
	code, left, text := m.again(lint + redLine("tests", "p", "TestGood") + last)
	if code != 1 || left != lint+last || !strings.Contains(text, "shaky: p TestGood ") || !strings.Contains(text, "3 tests were excepted") {
		t.Errorf("exit %d\nstill red: %s%s", code, left, text)
	}

	out := filepath.Join(m.root, "left")
	code, left, _ = m.retry("-company", filepath.Join(m.root, "reds"), "-out", out, "-shaky", "none.txt")
	if code != 1 || left != "" || m.read("left") != lint {
		t.Errorf("exit %d, printed %q, in the file %q", code, left, m.read("left"))
	}
}

// What could not be looked at stays red, and the exit code shows that.
func TestCannotLook(t *testing.T) {
	m := newCompany(t)
	reds := redLine("tests", "p", "TestAlways") + redLine("tests", "p", "TestGood")
	want := func(left, wantLeft, text, pattern string, code int) {
		t.Helper()
		if code != 2 || left != wantLeft || !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("exit %d, want 2 and %s\nstill red: %s%s", code, pattern, left, text)
		}
	}

	m.write("scripts/shaky.txt", "p TestGood 7fc47ed4 \"no reload\"\np TestNone 7fc47ed4 \"no reload\"\n")
	code, left, text := m.again(reds)
	want(left, reds, text, `scripts/shaky.txt:2: there is no test p TestNone\n$`, code)
	m.write("scripts/shaky.txt", "p TestScripts/none 7fc47ed4 \"no reload\"\n")
	code, left, text = m.again("")
	want(left, "", text, `scripts/shaky.txt:1: there is no test p TestScripts/none\n$`, code)
	m.write("scripts/shaky.txt", "")

	code, left, text = m.again("no JSON\n")
	want(left, "", text, `reds:1: invalid character`, code)
	code, left, text = m.retry("-company", filepath.Join(m.root, "missing"))
	want(left, "", text, `missing: no such file`, code)
	code, left, text = m.retry("-company", "reds", "p", "TestGood")
	want(left, "", text, `none are named beside it`, code)

	m.load = filepath.Join(m.root, "missing")
	code, left, text = m.again(reds)
	want(left, reds, text, `start the load generator`, code)
	m.load = newModule(t).load

	t.Setenv(change.Folder, filepath.Join(m.root, "missing"))
	code, left, text = m.again(reds)
	want(left, reds, text, `landed: read the folder`, code)
}

func TestTouched(t *testing.T) {
	for name, want := range map[string]bool{"go.mod": true, "go.sum": true, "README.md": false, "host/fleet/go.mod": false} {
		if got := touched(change.Change{Files: []string{name}}, "host/serve"); got != want {
			t.Errorf("%s changed: %v", name, got)
		}
	}
}
