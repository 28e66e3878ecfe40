//go:build linux

package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/trial"
)

// playPart carries the stories of two kinds of faults out, and lists what was tried. The story fail
// ends with an error of the lab; "after" and a story lets the time be over then.
func playPart(t *testing.T, path string, pass Pass, limit time.Duration, fail string) (tried []string, left int, l *Lab, err error) {
	t.Helper()
	l = &Lab{Report: NewReport(io.Discard, pass.Mode, pass.Seed)}
	if l.Parts, err = OpenParts(path, limit, pass, l.Report); err != nil {
		return nil, 0, l, err
	}
	var mu sync.Mutex
	kind := func(name string, stories ...string) Fault {
		var all []Case
		for _, key := range stories {
			all = append(all, Case{key, func(_ context.Context, key string) error {
				mu.Lock()
				defer mu.Unlock()
				if key == fail {
					return io.ErrUnexpectedEOF
				}
				tried = append(tried, key)
				if "after "+key == fail {
					l.Parts.mu.Lock()
					l.Parts.limit = 1
					l.Parts.mu.Unlock()
				}
				l.Report.CountCase(name)
				if strings.HasSuffix(key, "/found") {
					l.Report.AddFailure(Failure{Key: key, Findings: judge.Findings{{Kind: judge.Twice, Text: "x"}}})
					return trial.ErrFound
				}
				return nil
			}})
		}
		return Fault{Name: name, Run: func(ctx context.Context, l *Lab, c Choice) error {
			l.Report.NoteCaught("control of " + name)
			return l.RunCases(ctx, name, c, all)
		}}
	}
	faults := []Fault{kind("a", "1", "found"), kind("b", "1", "2", "3")}
	err = l.RunFaults(context.Background(), faults, Choice{Workers: 1})
	left = l.Parts.Left()
	return tried, left, l, errors.Join(err, l.Parts.Close(err == nil && left == 0))
}

// A part that was broken off is gone on with: what was done is not done again, and the counts go on
// from where they were.
func TestPartsGoOn(t *testing.T) {
	path, pass := filepath.Join(t.TempDir(), "state"), Pass{Commit: "c", Binary: "b", Mode: "faults", Seed: 3}
	tried, _, first, err := playPart(t, path, pass, 0, "b/2")
	if err == nil || !slices.Equal(tried, []string{"a/1", "a/found", "b/1"}) || first.Report.Stories != 3 {
		t.Fatalf("the first part tried %v: %v", tried, err)
	}
	tried, left, second, err := playPart(t, path, pass, 0, "")
	if err != nil || left != 0 || !slices.Equal(tried, []string{"b/2", "b/3"}) {
		t.Fatalf("the second part tried %v, %d are left: %v", tried, left, err)
	}
	r := second.Report
	if r.Stories != 5 || r.Twice != 1 || len(r.Failures) != 1 || r.Faults["a"] != 2 || r.Faults["b"] != 3 || len(r.Controls) != 2 || r.earlier.Seconds <= 0 {
		t.Errorf("the counts of both parts are %+v", r)
	}
	for _, line := range []string{"commit c", "command x", "seed 3", "parts 2", "stories 5", "effects_done_twice 1", "controls 2", "caught 2"} {
		if result := second.Parts.Result("x"); !strings.Contains(result, line+"\n") {
			t.Errorf("the result lacks %q:\n%s", line, result)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a complete pass leaves its file: %v", err)
	}
}

// Nothing begins after the time of a part; what is left is named, and the next part does it.
func TestPartsEndInTime(t *testing.T) {
	path, pass := filepath.Join(t.TempDir(), "state"), Pass{Mode: "faults", Seed: 3}
	if tried, left, _, err := playPart(t, path, pass, 1, ""); err != nil || len(tried) > 0 || left != 2 {
		t.Errorf("without time %v were tried, and %d kinds of faults are left: %v", tried, left, err)
	}
	if tried, left, _, err := playPart(t, path, pass, 0, "after b/1"); err != nil || len(tried) != 3 || left != 2 {
		t.Errorf("with time until b/1 %v were tried, and %d are left: %v", tried, left, err)
	}
	if tried, left, _, err := playPart(t, path, pass, 0, ""); err != nil || !slices.Equal(tried, []string{"b/2", "b/3"}) || left != 0 {
		t.Errorf("with time %v were tried, and %d are left: %v", tried, left, err)
	}
}

// Counts of two passes do not add up: another binary, seed or selection is refused, and so is a
// file that is none.
func TestPartsOfOnePassOnly(t *testing.T) {
	path, pass := filepath.Join(t.TempDir(), "state"), Pass{Commit: "c", Binary: "b", Mode: "faults", Seed: 3}
	if _, _, _, err := playPart(t, path, pass, 1, ""); err != nil {
		t.Fatal(err)
	}
	for _, other := range []Pass{{Commit: "d", Binary: "b", Mode: "faults", Seed: 3}, {Commit: "c", Binary: "c", Mode: "faults", Seed: 3}, {Commit: "c", Binary: "b", Mode: "short", Seed: 3}, {Commit: "c", Binary: "b", Mode: "faults", Seed: 4}} {
		if _, _, _, err := playPart(t, path, other, 0, ""); err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("%+v goes on with %+v: %v", other, pass, err)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := playPart(t, path, pass, 0, ""); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("half a file is read: %v", err)
	}
}

// A control that found nothing is counted as one that is there and was not caught.
func TestResultNamesMissedControls(t *testing.T) {
	l := &Lab{Report: NewReport(io.Discard, "faults", 1)}
	l.Control("found", judge.Lost, judge.Findings{{Kind: judge.Lost}})
	l.Control("missed", judge.Lost, judge.Findings{{Kind: judge.Stuck}})
	p := &Parts{report: l.Report}
	if result := p.Result("x"); !strings.Contains(result, "controls 2\ncaught 1\n") {
		t.Errorf("the result is\n%s", result)
	}
}
