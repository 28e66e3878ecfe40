package main

import (
	"slices"
	"strings"
	"testing"
)

const recorded = `# a comment

gofmt 3 2 # reads all files
tests - 900.5 # the whole of them
total 1300 1000 # of two cores
`

func TestRecordIsRead(t *testing.T) {
	list, err := parseRecord("cost.txt", recorded)
	want := []record{
		{"gofmt", 3, 2, "reads all files", 3}, {"tests", unmeasured, 900.5, "the whole of them", 4}, {"total", 1300, 1000, "of two cores", 5},
	}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestBrokenRecordIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"gofmt 1 1 # again":     "cost.txt:6: gofmt is there twice, first in line 3",
		"vet 1 # one number":    "cost.txt:6: \"vet 1 # one number\" is not NAME COLD WARM # SENTENCE",
		"vet 1 2 3 # three":     "cost.txt:6: \"vet 1 2 3 # three\" is not",
		"vet 1 2":               "cost.txt:6: \"vet 1 2\" is not",
		"vet 1 2 #":             "cost.txt:6: \"vet 1 2 #\" is not",
		"vet NaN 2 # a":         "cost.txt:6: \"NaN\" is no number of seconds",
		"vet 1 -2 # a":          "cost.txt:6: \"-2\" is no number of seconds",
		"vet 1 Inf # a":         "cost.txt:6: \"Inf\" is no number of seconds",
		"vet 1 two # a":         "cost.txt:6: \"two\" is no number of seconds",
		"vet 1 2 s # with unit": "cost.txt:6: ",
	} {
		if _, err := parseRecord("cost.txt", recorded+line+"\n"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	if _, err := parseRecord("cost.txt", "total 1 - # the total has both"); err == nil {
		t.Error("a total without a number is accepted")
	}
}

func TestRaisedInSilence(t *testing.T) {
	earlier, err := parseRecord("cost.txt", recorded)
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]int{
		"gofmt 3 2 # reads all files":     0,
		"gofmt 3 1 # reads all files":     0,
		"gofmt 3 4 # reads all files":     1,
		"gofmt 4 4 # reads all files":     2,
		"gofmt - - # reads all files":     2,
		"gofmt 9 9 # and formats them":    0,
		"new 9 9 # was not there earlier": 0,
	} {
		list, err := parseRecord("cost.txt", change)
		if err != nil {
			t.Fatal(err)
		}
		if errs := raised(list, earlier); len(errs) != want {
			t.Errorf("%s: got %v, want %d", change, errs, want)
		}
	}
}

func TestComparison(t *testing.T) {
	list, err := parseRecord("cost.txt", recorded)
	if err != nil {
		t.Fatal(err)
	}
	spent := func(text string) []cost {
		t.Helper()
		all, err := parseSpent("spent", text)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}

	for name, c := range map[string]struct {
		spent, kind string
		list        []record
		want        []string
		red         bool
	}{
		"below": {"gofmt 1.5\ntests 1000\ngofmt 0.7\n", warm, list,
			[]string{"gofmt 2", "tests 1000", "total 1002", "cpu: 1,002 s (record 1,000, warm), 2 min of clock"}, false},
		"a step above": {"gofmt 2.5\ntests 1\n", warm, list,
			[]string{"gofmt 2", "tests 1", "total 4", "cost: gofmt 2 s, record 2, warm", "cpu: 4 s (record 1,000, warm), 2 min of clock"}, false},
		"the total above": {"tests 1501\n", warm, list,
			[]string{"tests 1501", "total 1501", "cost: tests 1501 s, record 900.5, warm", "cpu: 1,501 s (record 1,000, warm), 2 min of clock"}, true},
		"cold is another record": {"tests 1501\n", cold, list,
			[]string{"tests 1501", "total 1501", "cpu: 1,501 s (record 1,300, cold), 2 min of clock"}, false},
		"without a line": {"vet 1\n", warm, list,
			[]string{"vet 1", "total 1", "cost: vet has no line in scripts/cost.txt", "cpu: 1 s (record 1,000, warm), 2 min of clock"}, false},
		"without a total": {"gofmt 1\n", warm, list[:1],
			[]string{"gofmt 1", "total 1", "cost: scripts/cost.txt has no line total", "cpu: 1 s (no record, warm), 2 min of clock"}, true},
		"a part of a run": {"tests 9999\n", "none", nil,
			[]string{"tests 9999", "total 9999", "cpu: 9,999 s (not compared), 2 min of clock"}, false},
	} {
		lines, red := compare(c.list, spent(c.spent), c.kind, 100)
		if !slices.Equal(lines, c.want) || red != c.red {
			t.Errorf("%s: got %q, red %v", name, lines, red)
		}
	}
}

func TestOnlyLowered(t *testing.T) {
	for name, c := range map[string]struct{ name, kind, from, to string }{
		"lower":          {"gofmt", warm, "gofmt 3 2 #", "gofmt 3 1 #"},
		"higher":         {"tests", warm, "tests - 900.5 #", "tests - 900.5 #"},
		"not measured":   {"tests", cold, "tests - 900.5 #", "tests 950 900.5 #"},
		"the total, too": {"total", cold, "total 1300 1000 #", "total 951 1000 #"},
	} {
		got, err := lowered("cost.txt", recorded, c.name, c.kind, []cost{{"gofmt", 1}, {"tests", 950}})
		if want := strings.Replace(recorded, c.from, c.to, 1); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"vet": "cost.txt has no line vet", "gofmt": "nothing was spent on gofmt"} {
		if _, err := lowered("cost.txt", recorded, name, warm, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestBrokenSecondsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"gofmt 1\ngofmt\n":       "spent:2: ",
		"gofmt 1 2\n":            "spent:1: ",
		"gofmt 1\n\ngofmt one\n": "spent:3: \"one\" is no number of seconds",
	} {
		if _, err := parseSpent("spent", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
