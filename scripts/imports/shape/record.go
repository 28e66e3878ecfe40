package shape

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// tolerance is how far a measure may rise above its record: far enough that a change that is no
// worse than others passes, and not far enough for a second one.
const tolerance = 1.02

// A Record holds the values of the recorded measures that hold. Each has one line,
//
//	name value goal # sentence
//
// in which the sentence is there for a value that was raised, and gives the reason.
type Record struct {
	file   string
	text   string
	limits map[string]limit
}

// A limit is one line of a record.
type limit struct {
	value, goal float64
	sentence    string
	line        int
}

// A Problem is what is wrong in one line of a file.
type Problem struct {
	File string
	Line int
	Text string
}

// ReadRecord reads a record that has a line for each recorded measure, or names all that is wrong.
func ReadRecord(file, text string) (Record, []Problem) {
	r, problems := readRecord(file, text, true)
	for _, k := range kinds() {
		if _, ok := r.limits[k.name]; k.recorded && !ok {
			last := max(1, strings.Count(strings.TrimRight(text, "\n"), "\n")+1)
			problems = append(problems, Problem{file, last, "the record ends without a line for " + k.name})
		}
	}
	return r, problems
}

// ReadOlder reads a record of another time, when other measures may have been recorded.
func ReadOlder(file, text string) (Record, []Problem) { return readRecord(file, text, false) }

// readRecord reads the lines that there are. One that is wrong still counts as the line of its
// measure, so that a mistake is one problem.
func readRecord(file, text string, strict bool) (Record, []Problem) {
	r, problems := Record{file: file, text: text, limits: map[string]limit{}}, []Problem(nil)
	n := 0
	for line := range strings.Lines(text) {
		n++
		figures, sentence, _ := strings.Cut(line, "#")
		fields := strings.Fields(figures)
		if len(fields) == 0 {
			continue
		}
		if !recorded(fields[0]) {
			if strict {
				problems = append(problems, Problem{file, n, fields[0] + " has no record"})
			}
			continue
		}
		if first, double := r.limits[fields[0]]; double {
			problems = append(problems, Problem{file, n, fmt.Sprintf("%s is there twice, first in line %d", fields[0], first.line)})
			continue
		}

		l, err := parseLimit(fields)
		if err != nil {
			problems = append(problems, Problem{file, n, err.Error()})
		}
		l.sentence, l.line = strings.TrimSpace(sentence), n
		r.limits[fields[0]] = l
	}
	return r, problems
}

// recorded reports whether a record holds a value of a measure.
func recorded(name string) bool {
	return slices.ContainsFunc(kinds(), func(k kind) bool { return k.recorded && k.name == name })
}

// parseLimit reads a name, a value and a goal.
func parseLimit(fields []string) (l limit, err error) {
	if len(fields) != 3 {
		return l, fmt.Errorf("a line is \"name value goal # sentence\", and this one has %d fields before the #", len(fields))
	}
	if l.value, err = parseValue(fields[1]); err != nil {
		return l, err
	}
	if l.goal, err = parseValue(fields[2]); err != nil {
		return l, err
	}
	if l.goal > l.value {
		return l, fmt.Errorf("the goal %s is above the value %s", fields[2], fields[1])
	}
	return l, nil
}

func parseValue(field string) (float64, error) {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%q is no value", field)
	}
	return v, nil
}

// Exceeded finds the measures that are more than 2 % above their record.
func (r Record) Exceeded(measures []Measure) (problems []Problem) {
	for _, m := range measures {
		l, ok := r.limits[m.Name]
		if ok && m.Value > l.value*tolerance+0.001 { // what two places do not show
			text := fmt.Sprintf("%s is %s, its record %s: `go run ./scripts/imports shape -v %s` lists what counts", m.Name, Figure(m.Value), Figure(l.value), m.Name)
			problems = append(problems, Problem{r.file, l.line, text})
		}
	}
	return problems
}

// Row prints a measure with its record, if there is one.
func (r Record) Row(m Measure) string {
	row := fmt.Sprintf("%-22s %8s", m.Name, Figure(m.Value))
	if l, ok := r.limits[m.Name]; ok {
		row += fmt.Sprintf("   record %6s   goal %6s", Figure(l.value), Figure(l.goal))
	}
	return row
}

// Raised finds what a record has raised against an older one: a value without a new sentence, and a
// goal. What the older record does not have is not compared.
func (r Record) Raised(older Record) (problems []Problem) {
	for name, l := range r.limits {
		before, ok := older.limits[name]
		if !ok {
			continue
		}
		if l.goal > before.goal {
			text := fmt.Sprintf("the goal of %s was raised from %s to %s: a goal may only come down", name, Figure(before.goal), Figure(l.goal))
			problems = append(problems, Problem{r.file, l.line, text})
		}
		if l.value > before.value && (letters(l.sentence) == "" || letters(l.sentence) == letters(before.sentence)) {
			text := fmt.Sprintf("%s was raised from %s to %s: give the reason in a new sentence behind #", name, Figure(before.value), Figure(l.value))
			problems = append(problems, Problem{r.file, l.line, text})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	return problems
}

// letters are what of a sentence a reader sees, but for spaces, points and capitals.
func letters(sentence string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, sentence)
}

// Lowered is the text of the record with the value of a measure in its line. All other lines are as
// they were. The sentence goes: it was the reason for a value that holds no longer. A goal that was
// passed comes down to the value.
func (r Record) Lowered(m Measure) (string, error) {
	l, ok := r.limits[m.Name]
	if !ok {
		return "", errors.New(m.Name + " has no record")
	}
	if m.Value >= l.value {
		return "", fmt.Errorf("lower the record of %s: it is %s, its record %s", m.Name, Figure(m.Value), Figure(l.value))
	}

	rows := strings.SplitAfter(r.text, "\n")
	end := rows[l.line-1][len(strings.TrimRight(rows[l.line-1], "\r\n")):]
	rows[l.line-1] = fmt.Sprintf("%-24s %8s %8s", m.Name, Figure(m.Value), Figure(min(l.goal, m.Value))) + end
	return strings.Join(rows, ""), nil
}
