package red_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/scripts/ci/red"
)

// What was appended is read again, and a person sees it in columns.
func TestAppendedAndShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reds")
	first := []red.Failure{{Step: "tests", Package: "host/serve", Test: "TestReload", Output: "=== RUN   TestReload\n", Command: "go test -run '^TestReload$' ./host/serve"}}
	second := []red.Failure{{Step: "lint", Command: "scripts/check vet && x <y", Why: "gcc cannot be fetched"}}
	for _, failures := range [][]red.Failure{first, second} {
		if err := red.Append(file, failures); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"command":"scripts/check vet && x <y"`) {
		t.Errorf("the command is not as it was: %s", text)
	}

	got, err := red.Parse("reds", string(text)+"\n")
	if err != nil || !slices.Equal(got, append(first, second...)) {
		t.Errorf("got %+v, %v", got, err)
	}
	if again, err := red.Encode(got); err != nil || string(again) != string(text) {
		t.Errorf("written as\n%s%v", again, err)
	}
	if names := []string{got[0].String(), got[1].String()}; !slices.Equal(names, []string{"tests host/serve TestReload", "lint"}) {
		t.Errorf("named %q", names)
	}
	want := []string{
		"red: tests  host/serve TestReload  go test -run '^TestReload$' ./host/serve",
		"red: lint                          scripts/check vet && x <y  # gcc cannot be fetched",
	}
	if lines := red.Lines(got); !slices.Equal(lines, want) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
}

func TestBrokenFileIsRefused(t *testing.T) {
	good := `{"step":"a","command":"b"}` + "\n"
	for text, want := range map[string]string{
		good + `{"step":`:        "reds:2: ",
		good + `{"step":"a"}`:    "reds:2: a failure has a step and a command",
		`{"command":"a"}`:        "reds:1: a failure has a step and a command",
		good + "{\n":             "reds:2: ",
		`{"package":"a"}`:        "reds:1: a failure has a step and a command",
		good + good + `["step"]`: "reds:3: ",
	} {
		if _, err := red.Parse("reds", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
