package gotest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agent/scripts/ci/gotest"
)

// module is a module with packages that fail in every way.
var module = map[string]string{
	"go.mod":       "module m\n\ngo 1.24\n",
	"root_test.go": "package m\nimport \"testing\"\nfunc TestRoot(t *testing.T) { t.Error(\"of the root\") }\n",
	"good/a_test.go": `package good
import ("fmt"; "testing")
func TestA(t *testing.T) { fmt.Println("of a test that passes"); t.Log("logged") }
func TestSkipped(t *testing.T) { t.Skip("skipped") }
`,
	"none/a.go": "package none\n",
	"script/a_test.go": `package script
import "testing"
func TestScripts(t *testing.T) {
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) { t.Run("x", func(t *testing.T) { if name != "b" { t.Error("of", name) } }) })
	}
}
`,
	"failing/a_test.go": `package failing
import "testing"
func TestGood(t *testing.T) { t.Log("logged by the good one") }
func TestOne(t *testing.T) { t.Error("first") ; t.Log("second") }
func TestSub(t *testing.T) {
	t.Run("good", func(t *testing.T) { t.Log("logged by a good one") })
	t.Run("bad (1)", func(t *testing.T) { t.Run("deep", func(t *testing.T) { t.Error("deep down") }) })
}
func TestSubs(t *testing.T) {
	for _, name := range []string{"a", "b"} { t.Run(name, func(t *testing.T) { t.FailNow() }) }
}
`,
	"panics/a_test.go": `package panics
import "testing"
func TestBefore(t *testing.T) {}
func TestPanics(t *testing.T) { panic("on purpose") }
func TestAfter(t *testing.T) {}
`,
	"exits/a_test.go": `package exits
import ("os"; "testing")
func TestMain(m *testing.M) { m.Run(); println("the main test ends it"); os.Exit(3) }
func TestA(t *testing.T) {}
`,
	"ends/a_test.go": `package ends
import ("os"; "testing")
func TestParallel(t *testing.T) { t.Parallel() }
func TestEnds(t *testing.T) { println("it ends the process"); os.Exit(4) }
`,
	"apart/a_test.go": `package apart
import ("testing"; "time")
func TestBad(t *testing.T) { t.Error("bad") }
func TestPanicsApart(t *testing.T) { go func() { panic("beside its test") }(); time.Sleep(time.Minute) }
`,
	"broken/a_test.go": "package broken\nimport \"testing\"\nfunc TestA(t *testing.T) { undefined() }\n",
}

// cutOff is why a package fails whose other tests may never have run: without it, a test that
// panics once and passes when it is tried again would hide them.
const cutOff = "its process ended before its tests: some may never have run"

// goTest runs go test in the module and gives what it prints.
func goTest(t *testing.T, args ...string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range module {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", append([]string{"test"}, args...)...)
	c.Dir = folder
	c.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err == nil {
		t.Fatalf("go test passes:\n%s", out)
	}
	return string(out)
}

// What go test -json prints becomes what go test prints, and each way to fail is found.
func TestAsGoTestPrintsIt(t *testing.T) {
	var out bytes.Buffer
	r := gotest.Reader{Out: &out, Module: "m"}
	failures, err := r.Read(strings.NewReader(goTest(t, "-json", "-p", "1", "./...")))
	if err != nil {
		t.Fatal(err)
	}

	want := []gotest.Failure{
		{Package: ".", Test: "TestRoot"},
		{Package: "apart", Why: cutOff},
		{Package: "apart", Test: "TestBad"},
		{Package: "broken"},
		{Package: "ends", Why: cutOff},
		{Package: "ends", Test: "TestEnds"},
		{Package: "exits"},
		{Package: "failing", Test: "TestOne"},
		{Package: "failing", Test: "TestSub", Sub: "bad_(1)"},
		{Package: "failing", Test: "TestSubs"},
		{Package: "panics", Why: cutOff},
		{Package: "panics", Test: "TestPanics"},
		{Package: "script", Test: "TestScripts/a"},
		{Package: "script", Test: "TestScripts/c"},
	}
	for i, f := range failures {
		if f.Test == "TestScripts/c" && !strings.Contains(f.Output, "    a_test.go:5: of c\n") {
			t.Errorf("the output of a failure is %q", f.Output)
		}
		failures[i].Output = ""
	}
	slices.SortFunc(failures, func(a, b gotest.Failure) int { return strings.Compare(a.Package+a.Test, b.Package+b.Test) })
	if !slices.Equal(failures, want) {
		t.Errorf("found\n%+v\nwant\n%+v", failures, want)
	}

	plain := lines(goTest(t, "-p", "1", "./..."))
	if got := append(lines(out.String()), "FAIL"); !slices.Equal(sorted(got), sorted(plain)) {
		t.Errorf("printed\n%s\nand go test alone\n%s", strings.Join(got, "\n"), strings.Join(plain, "\n"))
	}
	if !regexp.MustCompile(`--- FAIL: TestOne \([0-9.]+s\)\n    a_test.go:4: first\n    a_test.go:4: second\n`).MatchString(out.String()) {
		t.Errorf("the verdict is not the first line of its test:\n%s", out.String())
	}
}

// lines are the lines of a text without what differs between two runs: times, addresses, numbers.
func lines(text string) []string {
	text = regexp.MustCompile(`\(?[0-9.]+s\)?|0x[0-9a-f]+|goroutine [0-9]+|\+0x\S+|/tmp/\S*/`).ReplaceAllString(text, "T")
	var list []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "\tFAIL") {
			list = append(list, strings.TrimRight(line, "\n"))
		}
	}
	return list
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// stream makes lines of events: fields are the action, the test and the output.
func stream(t *testing.T, events ...[3]string) string {
	t.Helper()
	var text strings.Builder
	for _, e := range events {
		line, err := json.Marshal(map[string]string{"Action": e[0], "Package": "m/late", "Test": e[1], "Output": e[2]})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	return text.String()
}

// When go's own deadline ends the process, the tests that were running then have failed, and not
// those that waited for their turn.
func TestOutOfTime(t *testing.T) {
	var out bytes.Buffer
	r := gotest.Reader{Out: &out, Module: "m"}
	failures, err := r.Read(strings.NewReader("no event\n" + stream(t,
		[3]string{"start"},
		[3]string{"run", "TestBad"}, [3]string{"output", "TestBad", "--- FAIL: TestBad (0.00s)\n"}, [3]string{"fail", "TestBad"},
		[3]string{"run", "TestWaits"}, [3]string{"output", "TestWaits", "=== PAUSE TestWaits\n"}, [3]string{"pause", "TestWaits"},
		[3]string{"run", "TestSlow"}, [3]string{"run", "TestSlow/sub"},
		[3]string{"output", "TestSlow/sub", "panic: test timed out after 40m0s\n"},
		[3]string{"output", "", "FAIL\tm/late\t2400.1s\n"}, [3]string{"fail"})))
	if err != nil {
		t.Fatal(err)
	}
	if want := []gotest.Failure{
		{Package: "late", Test: "TestBad", Output: "--- FAIL: TestBad (0.00s)\n"},
		{Package: "late", Test: "TestSlow", Sub: "sub", Output: "panic: test timed out after 40m0s\n"},
		{Package: "late", Why: cutOff},
	}; !slices.Equal(failures, want) {
		t.Errorf("found %+v, want %+v", failures, want)
	}
	want := "no event\n--- FAIL: TestBad (0.00s)\npanic: test timed out after 40m0s\nFAIL\tm/late\t2400.1s\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// A go test that is killed leaves packages without an end.
func TestCutOff(t *testing.T) {
	var out bytes.Buffer
	r := gotest.Reader{Out: &out, Module: "m"}
	failures, err := r.Read(strings.NewReader(stream(t, [3]string{"start"}, [3]string{"run", "TestSlow"})))
	if err != nil {
		t.Fatal(err)
	}
	if want := []gotest.Failure{{Package: "late", Test: "TestSlow"}, {Package: "late", Why: cutOff}}; !slices.Equal(failures, want) || out.String() != "FAIL\tm/late [did not end]\n" {
		t.Errorf("found %+v, printed %q", failures, out.String())
	}
}

// Each failure has the command that repeats it alone.
func TestCommands(t *testing.T) {
	failures := []gotest.Failure{
		{Package: ".", Test: "TestA"}, {Package: "a/b"}, {Package: "a/b", Test: "TestScripts/undo.all"}, {Package: "a/b", Test: "TestB", Sub: "one"},
		{Package: "a/b", Test: "TestB", Sub: "it's"},
	}
	var got []string
	for _, r := range gotest.Reds("tests", "go test", failures) {
		got = append(got, r.Step+" "+r.Package+" "+r.Test+": "+r.Command)
	}
	want := []string{
		"tests . TestA: go test -run '^TestA$' .",
		"tests a/b : go test ./a/b",
		`tests a/b TestScripts/undo.all: go test -run '^TestScripts$/^undo\.all$' ./a/b`,
		"tests a/b TestB: go test -run '^TestB$/^one$' ./a/b",
		`tests a/b TestB: go test -run '^TestB$/^it'\''s$' ./a/b`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
