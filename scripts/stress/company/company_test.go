package company

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agent/scripts/ci/red"
	"agent/scripts/stress/trial"
)

func TestRefuse(t *testing.T) {
	other := Line{Package: "host/drive", Test: "TestStart"}
	third := Line{Package: "db", Test: "TestOpen"}
	for _, c := range []struct {
		name    string
		failure red.Failure
		changed bool
		shaky   []Line
		want    string
	}{
		{"may be tried", red.Failure{Step: "tests", Package: "host/serve", Test: "TestReload"}, false, []Line{other, third}, ""},
		{"a script", red.Failure{Step: "tests", Package: "host/command", Test: "TestScripts/run"}, false, nil, ""},
		{"another step", red.Failure{Step: "race", Package: "host/serve", Test: "TestReload"}, false, nil, "only tests of the step tests"},
		{"a package", red.Failure{Step: "tests", Package: "host/serve"}, false, nil, "no single test failed"},
		{"a changed package", red.Failure{Step: "tests", Package: "host/serve", Test: "TestReload"}, true, nil, "its package, or go.mod, has changed"},
		{"fuzz", red.Failure{Step: "tests", Package: "db/redact", Test: "FuzzRedact"}, false, nil, "what fuzz finds"},
		{"a lab", red.Failure{Step: "tests", Package: "scripts/crashlab/judge", Test: "TestCompareEnds"}, false, nil, "what a lab finds"},
		{"drawn histories", red.Failure{Step: "tests", Package: "recovery/flow", Test: "TestStoriesKeepThePromises"}, false, nil, "what drawn histories finds"},
		{"a differential", red.Failure{Step: "tests", Package: "tools/patch", Test: "TestAgainstGit"}, false, nil, "what a differential finds"},
		{"excepted before", red.Failure{Step: "tests", Package: "host/drive", Test: "TestStart"}, false, []Line{other}, "has not been repaired"},
		{"a case of one excepted before", red.Failure{Step: "tests", Package: "host/drive", Test: "TestStart/twice"}, false, []Line{other}, "has not been repaired"},
		{"a name that begins as that of one", red.Failure{Step: "tests", Package: "host/drive", Test: "TestStarted"}, false, []Line{other}, ""},
		{"three excepted before", red.Failure{Step: "tests", Package: "host/serve", Test: "TestReload"}, false, []Line{other, third, {Package: "db", Test: "TestClose"}}, "3 tests were excepted"},
	} {
		if got := Refuse(c.failure, c.changed, c.shaky); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAfterAlone(t *testing.T) {
	for _, c := range []struct {
		result trial.Result
		want   string
	}{
		{trial.Result{Outcome: trial.Passed, CPU: 15 * time.Second}, ""},
		{trial.Result{Outcome: trial.Passed, CPU: 16 * time.Second}, "20 runs do not fit in 5m0s"},
		{trial.Result{Outcome: trial.TooDear}, "20 runs do not fit in 5m0s"},
		{trial.Result{Outcome: trial.Failed}, "it fails alone"},
		{trial.Result{Outcome: trial.Skipped}, "alone it skips itself"},
		{trial.Result{Outcome: trial.Missing}, "alone nothing ran"},
	} {
		if got := AfterAlone(c.result, Tries, Limit); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.result, got, c.want)
		}
	}
}

func TestAfterLoad(t *testing.T) {
	passed := make([]trial.Result, Tries)
	for i, r := range trial.Repeats(Tries) {
		passed[i] = trial.Result{Outcome: trial.Passed, Repeat: r}
	}
	last := func(o trial.Outcome) []trial.Result {
		return append(passed[:Tries-1:Tries-1], trial.Result{Outcome: o, Repeat: passed[Tries-1].Repeat})
	}
	for _, c := range []struct {
		results []trial.Result
		want    string
	}{
		{passed, ""},
		{passed[:Tries-1], "it was run 19 times of 20"},
		{nil, "it was run 0 times of 20"},
		{last(trial.Failed), "it fails under load, in run 20 of 20 (GOMAXPROCS=1, stopped for 2s)"},
		{last(trial.Skipped), "under load nothing ran"},
		{last(trial.Missing), "under load nothing ran"},
		{last(trial.TooDear), "20 runs do not fit in 5m0s"},
	} {
		if got := AfterLoad(c.results, Tries, Limit); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d runs: %q, want %q", len(c.results), got, c.want)
		}
	}
}

// Each rule about tests that find things names some that exist.
func TestFindersExist(t *testing.T) {
	const root = "../../.."
	found := make([]bool, len(finders()))
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		for i, f := range finders() {
			for _, test := range function.FindAllSubmatch(text, -1) {
				in := f.folder == "" || strings.HasPrefix(filepath.ToSlash(folder)+"/", f.folder+"/")
				found[i] = found[i] || in && regexp.MustCompile(f.pattern).Match(test[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range finders() {
		if !found[i] {
			t.Errorf("no test is %+v", f)
		}
	}
}

func TestExcept(t *testing.T) {
	failure := red.Failure{
		Step: "tests", Package: "host/serve", Test: "TestReload",
		Output: "=== RUN   TestReload\n    reload_test.go:41: no reload within 60s\n--- FAIL: TestReload (60.00s)\n",
	}
	if got, want := Except(failure, "7fc47ed4f7a0").String(), `host/serve TestReload 7fc47ed4 "no reload within 60s"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestShaky(t *testing.T) {
	exists := func(folder, test string) (bool, error) {
		if folder == "broken" {
			return false, errors.New("no Go file")
		}
		return folder == "host/serve", nil
	}
	const good = `host/serve TestReload 7fc47ed4 "no \"reload\" within 60s"` + "\n"
	lines, err := Shaky("shaky.txt", good+"host/serve TestScripts/run 7fc47ed \"\"\n", exists)
	if err != nil || len(lines) != 2 || lines[0].Text != `no "reload" within 60s` || lines[0].String()+"\n" != good {
		t.Errorf("%+v, %v", lines, err)
	}
	if lines, err := Shaky("shaky.txt", "", exists); err != nil || len(lines) != 0 {
		t.Errorf("an empty file: %v, %v", lines, err)
	}

	for bad, want := range map[string]string{
		"host/serve TestA":                          `not PACKAGE TEST COMMIT "TEXT": host/serve TestA`,
		"host/serve TestA 7fc47ed4 no reload":       "not PACKAGE",
		"host/serve TestA main \"no reload\"":       "not PACKAGE",
		"host/serve  TestA 7fc47ed4 \"no reload\"":  "not PACKAGE",
		"host/serve TestA 7fc47ed4 \"no reload\" x": "not PACKAGE",
		"":                                    "not PACKAGE",
		"# a comment":                         "not PACKAGE",
		"host/serve TestA 7fc47ed4 \"a\" b\"": "is no quoted text",
		"host/drive TestA 7fc47ed4 \"no reload\"": "there is no test host/drive TestA",
		"./host/serve TestA 7fc47ed4 \"\"":        "./host/serve is not how reds name a package",
		"host/serve/ TestA 7fc47ed4 \"\"":         "host/serve/ is not how reds name a package",
		"../m/host/serve TestA 7fc47ed4 \"\"":     "../m/host/serve is not how reds name a package",
		"broken TestA 7fc47ed4 \"no reload\"":     "no Go file",
		strings.TrimSpace(good):                   "host/serve TestReload is there twice, first in line 1",
	} {
		_, err := Shaky("scripts/shaky.txt", good+bad+"\n", exists)
		if err == nil || !strings.HasPrefix(err.Error(), "scripts/shaky.txt:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
