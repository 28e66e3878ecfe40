package trial

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRepeats(t *testing.T) {
	procs, stopped := map[int]int{}, map[int]int{}
	for i, r := range Repeats(30) {
		if r.Number != i+1 {
			t.Errorf("run %d is number %d", i+1, r.Number)
		}
		procs[r.Procs]++
		if r.Stopped {
			stopped[r.Procs]++
		}
	}
	if got, want := fmt.Sprint(procs, stopped), "map[0:10 1:10 4:10] map[0:1 1:1 4:1]"; got != want {
		t.Errorf("runs, and those stopped, by GOMAXPROCS: %s, want %s", got, want)
	}
	if some := Repeats(2); len(some) != 2 || some[0].Procs != 0 || some[1].Procs != 1 || some[1].Stopped {
		t.Errorf("two runs: %+v", some)
	}
}

func TestRepeatIsNamed(t *testing.T) {
	for want, r := range map[string]Repeat{
		"plain":                        {Number: 1},
		"GOMAXPROCS=4":                 {Number: 3, Procs: 4},
		"plain, stopped for 2s":        {Number: 10, Stopped: true},
		"GOMAXPROCS=1, stopped for 2s": {Number: 20, Procs: 1, Stopped: true},
	} {
		if r.String() != want {
			t.Errorf("%+v: %s, want %s", r, r, want)
		}
	}
}

// The three runs that are stopped are so at three places.
func TestStopAfter(t *testing.T) {
	var places []string
	for _, number := range []int{10, 20, 30} {
		places = append(places, Repeat{Number: number, Stopped: true}.stopAfter(4*time.Minute).String())
	}
	if got := strings.Join(places, " "); got != "2m0s 3m0s 1m0s" {
		t.Errorf("stopped after %s of four minutes", got)
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		spent, one, limit time.Duration
		want              bool
	}{
		{0, 4 * time.Minute, 120 * time.Minute, true},
		{0, 4*time.Minute + 1, 120 * time.Minute, false},
		{time.Minute, 4 * time.Minute, 120 * time.Minute, false},
		{time.Hour, time.Hour, 0, true},
	} {
		if got := Fits(c.spent, c.one, 30, c.limit); got != c.want {
			t.Errorf("30 runs of %v after %v within %v: %v", c.one, c.spent, c.limit, got)
		}
	}
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		name      string
		succeeded bool
		output    string
		want      Outcome
	}{
		{"TestA", true, "\x16=== RUN   TestA\n\x16--- PASS: TestA (0.00s)\nPASS\n", Passed},
		{"TestA", true, "\x16=== RUN   TestA\nno end of line\x16--- PASS: TestA (0.00s)\nPASS\n", Passed},
		{"TestA", false, "\x16--- PASS: TestA (0.00s)\npanic: in TestMain\n", Failed},
		{"TestA", true, "\x16--- SKIP: TestA (0.00s)\n", Skipped},
		{"TestA", true, "testing: warning: no tests to run\nPASS\n", Missing},
		{"TestA", true, "--- PASS: TestA (0.00s)\n", Missing}, // the test printed it
		{"TestA", true, "\x16--- PASS: TestAll (0.00s)\n", Missing},
		{"TestScripts/a", true, "\x16--- PASS: TestScripts (0.00s)\n\x16    --- SKIP: TestScripts/a (0.00s)\n", Skipped},
		{"TestScripts/a", true, "\x16--- PASS: TestScripts (0.00s)\n\x16    --- PASS: TestScripts/a (0.00s)\n", Passed},
	} {
		if got := read(c.name, c.succeeded, []byte(c.output)); got != c.want {
			t.Errorf("%s, success %v, %q: %d, want %d", c.name, c.succeeded, c.output, got, c.want)
		}
	}
}

func TestPattern(t *testing.T) {
	if got, want := pattern("TestScripts/a.b"), `^TestScripts$/^a\.b$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
