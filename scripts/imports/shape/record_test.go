package shape

import (
	"fmt"
	"strings"
	"testing"
)

// valid is a record of all that is recorded.
const valid = `# The form of the code.

foreign-values                422        0
aliases                        89       20 # the doors moved
widest-state                  144       60

wide-states                    16        4
dialect-in-comments          2194      150
function-word-names          3.78     0.50
`

// problemLines prints problems as path:line: text.
func problemLines(problems []Problem) string {
	var text []string
	for _, p := range problems {
		text = append(text, fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text))
	}
	return strings.Join(text, "\n")
}

// read is a record that must be valid.
func read(t *testing.T, text string) Record {
	t.Helper()
	r, problems := ReadRecord("shape.txt", text)
	if len(problems) > 0 {
		t.Fatal(problemLines(problems))
	}
	return r
}

func TestARecordIsRead(t *testing.T) {
	r := read(t, valid)
	if got, want := r.limits["aliases"], (limit{89, 20, "the doors moved", 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := r.limits["function-word-names"], (limit{3.78, 0.5, "", 9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// What a hand can do to a record, and what is printed for it.
func TestABrokenRecordIsRefused(t *testing.T) {
	change := func(from, to string) string {
		t.Helper()
		if !strings.Contains(valid, from) {
			t.Fatalf("the record has no %q", from)
		}
		return strings.Replace(valid, from, to, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a double line":          {change("wide-states ", "aliases 89 20\nwide-states "), "shape.txt:7: aliases is there twice, first in line 4"},
		"a measure of no record": {change("wide-states ", "lines 171491 150000\nwide-states "), "shape.txt:7: lines has no record"},
		"an unknown name":        {change("wide-states ", "wide-state 1 0\nwide-states "), "shape.txt:7: wide-state has no record"},
		"NaN":                    {change("89", "NaN"), `shape.txt:4: "NaN" is no value`},
		"infinity":               {change("89", "Inf"), `shape.txt:4: "Inf" is no value`},
		"no number":              {change("2194", "many"), `shape.txt:8: "many" is no value`},
		"a negative number":      {change("2194", "-1"), `shape.txt:8: "-1" is no value`},
		"a goal that is none":    {change("150", "1x"), `shape.txt:8: "1x" is no value`},
		"a goal above the value": {change("16        4", "8 9"), "shape.txt:7: the goal 9 is above the value 8"},
		"no goal":                {change("16        4", "16"), `shape.txt:7: a line is "name value goal # sentence", and this one has 2 fields before the #`},
		"a sentence without #":   {change("# the doors moved", "the doors moved"), `shape.txt:4: a line is "name value goal # sentence", and this one has 6 fields before the #`},
		"a measure without line": {change("aliases                        89       20 # the doors moved\n", ""), "shape.txt:8: the record ends without a line for aliases"},
		"two mistakes":           {change("422        0\naliases                        89", "x 0\naliases y"), `shape.txt:3: "x" is no value` + "\n" + `shape.txt:4: "y" is no value`},
		"a hidden line":          {change("wide-states ", "# wide-states "), "shape.txt:9: the record ends without a line for wide-states"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := ReadRecord("shape.txt", c.text)
			if got := problemLines(problems); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
	if _, problems := ReadRecord("shape.txt", ""); len(problems) != 6 || problems[0].Line != 1 {
		t.Errorf("an empty record: %v", problems)
	}
}

// Above is more than 2 % more than the record.
func TestMeasuresAboveTheirRecord(t *testing.T) {
	r := read(t, valid)
	for _, c := range []struct {
		name  string
		value float64
		want  string
	}{
		{"aliases", 89, ""},
		{"aliases", 90, ""},
		{"aliases", 91, "shape.txt:4: aliases is 91, its record 89: `go run ./scripts/imports shape -v aliases` lists what counts"},
		{"aliases", 20, ""},
		{"wide-states", 17, "shape.txt:7: wide-states is 17, its record 16: `go run ./scripts/imports shape -v wide-states` lists what counts"},
		{"function-word-names", 3.85, ""},
		{"function-word-names", 3.86, "shape.txt:9: function-word-names is 3.86, its record 3.78: `go run ./scripts/imports shape -v function-word-names` lists what counts"},
		{"lines", 1e9, ""},
	} {
		if got := problemLines(r.Exceeded([]Measure{{Name: c.name, Value: c.value}})); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.name, c.value, got, c.want)
		}
	}

	r = read(t, strings.NewReplacer("422", "0", "144", "100").Replace(valid))
	for value, want := range map[float64]int{0: 0, 1: 1} {
		if got := r.Exceeded([]Measure{{Name: "foreign-values", Value: value}, {Name: "widest-state", Value: 102}}); len(got) != want {
			t.Errorf("%v above 0: %v", value, got)
		}
	}
}

func TestTwoNewAliasesAreRefused(t *testing.T) {
	r := read(t, strings.Replace(valid, "89       20 # the doors moved", "1 0", 1))
	with := func(names string) map[string]string {
		return map[string]string{"b/b.go": "package b\n\ntype T int\n\nconst C = 1\n", "a/a.go": "package a\n\nimport \"m/b\"\n\ntype Old = b.T\n" + names}
	}
	if got := problemLines(r.Exceeded(module(t, with("")).Measures())); got != "" {
		t.Errorf("without a new one: %s", got)
	}
	got := problemLines(r.Exceeded(module(t, with("\ntype New = b.T\n\nconst Newer = b.C\n")).Measures()))
	if want := "shape.txt:4: aliases is 3, its record 1: "; !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("with two: got %q, want %q", got, want)
	}
}

func TestRaisedRecords(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		want     string
	}{
		"the same":                              {"", "", ""},
		"lower":                                 {"16        4", "12        2", ""},
		"another sentence":                      {"# the doors moved", "# the doors moved twice", ""},
		"a raised value":                        {"16        4", "17        4", "shape.txt:7: wide-states was raised from 16 to 17: give the reason in a new sentence behind #"},
		"raised with a sentence":                {"16        4", "17        4 # one type instead of two", ""},
		"an empty sentence":                     {"16        4", "17        4 # ", "shape.txt:7: wide-states was raised from 16 to 17: give the reason in a new sentence behind #"},
		"raised with the sentence of before":    {"89       20", "90       20", "shape.txt:4: aliases was raised from 89 to 90: give the reason in a new sentence behind #"},
		"raised without the sentence of before": {"89       20 # the doors moved", "90       20", "shape.txt:4: aliases was raised from 89 to 90: give the reason in a new sentence behind #"},
		"a sentence that nobody sees":           {"16        4", "17        4 # \u200b.", "shape.txt:7: wide-states was raised from 16 to 17: give the reason in a new sentence behind #"},
		"the sentence of before, spaced":        {"89       20 # the doors moved", "90       20 # The  doors moved.", "shape.txt:4: aliases was raised from 89 to 90: give the reason in a new sentence behind #"},
		"raised by little":                      {"3.78", "3.79", "shape.txt:9: function-word-names was raised from 3.78 to 3.79: give the reason in a new sentence behind #"},
		"a raised goal":                         {"16        4", "16        5", "shape.txt:7: the goal of wide-states was raised from 4 to 5: a goal may only come down"},
		"a raised goal with a sentence":         {"16        4", "15        5 # why not", "shape.txt:7: the goal of wide-states was raised from 4 to 5: a goal may only come down"},
		"both": {"16        4", "17        5",
			"shape.txt:7: the goal of wide-states was raised from 4 to 5: a goal may only come down\nshape.txt:7: wide-states was raised from 16 to 17: give the reason in a new sentence behind #"},
	} {
		t.Run(name, func(t *testing.T) {
			older, problems := ReadOlder("older.txt", valid)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := problemLines(read(t, strings.Replace(valid, c.from, c.to, 1)).Raised(older)); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// An older record may lack a measure, and have one that no longer is recorded; what it has must be
// right.
func TestOlderRecords(t *testing.T) {
	older, problems := ReadOlder("older.txt", "retired 1 0\nwide-states 15 4\n")
	if len(problems) > 0 {
		t.Errorf("a shorter record: %v", problems)
	}
	if got := read(t, valid).Raised(older); len(got) != 1 || !strings.HasPrefix(got[0].Text, "wide-states was raised from 15 to 16") {
		t.Errorf("against a shorter record: %v", got)
	}
	if _, problems := ReadOlder("older.txt", "aliases 1 0\naliases 2 0\n"); problemLines(problems) != "older.txt:2: aliases is there twice, first in line 1" {
		t.Errorf("a double line: %v", problems)
	}
}

func TestLoweredChangesOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		m        Measure
		from, to string
	}{
		"a value":                 {valid, Measure{Name: "widest-state", Value: 100}, "widest-state                  144       60", "widest-state                  100       60"},
		"a rate":                  {valid, Measure{Name: "function-word-names", Value: 3.4}, "3.78", "3.40"},
		"with a sentence":         {valid, Measure{Name: "aliases", Value: 80}, "aliases                        89       20 # the doors moved", "aliases                        80       20"},
		"below its goal":          {valid, Measure{Name: "wide-states", Value: 3}, "wide-states                    16        4", "wide-states                     3        3"},
		"other ends of lines":     {strings.ReplaceAll(valid, "\n", "\r\n"), Measure{Name: "widest-state", Value: 100}, "144", "100"},
		"no end of the last line": {strings.TrimSuffix(valid, "\n"), Measure{Name: "function-word-names", Value: 1}, "3.78     0.50", "   1     0.50"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, c.text).Lowered(c.m)
			if want := strings.Replace(c.text, c.from, c.to, 1); err != nil || got != want {
				t.Errorf("%v, got:\n%swant:\n%s", err, got, want)
			}
		})
	}
}

func TestLoweredRaisesNothing(t *testing.T) {
	for _, c := range []struct {
		m    Measure
		want string
	}{
		{Measure{Name: "aliases", Value: 90}, "lower the record of aliases: it is 90, its record 89"},
		{Measure{Name: "aliases", Value: 89}, "lower the record of aliases: it is 89, its record 89"},
		{Measure{Name: "function-word-names", Value: rounded(3.7777)}, "lower the record of function-word-names: it is 3.78, its record 3.78"},
		{Measure{Name: "lines", Value: 1}, "lines has no record"},
	} {
		if text, err := read(t, valid).Lowered(c.m); text != "" || err == nil || err.Error() != c.want {
			t.Errorf("got %q, %v; want %q", text, err, c.want)
		}
	}
}

func TestRows(t *testing.T) {
	r := read(t, valid)
	for want, m := range map[string]Measure{
		"aliases                      90   record     89   goal     20": {Name: "aliases", Value: 90},
		"lines                    171491":                               {Name: "lines", Value: 171491},
	} {
		if got := r.Row(m); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
