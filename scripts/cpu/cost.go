package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The kinds of a run: cold without a cache of the build, warm with one.
const (
	cold = "cold"
	warm = "warm"
)

// total is the name of the sum of a run.
const total = "total"

// How much above its record a step is printed, and the total red.
const (
	notable = 1.2
	tooMuch = 1.5
)

// unmeasured is a number that the record does not have yet.
const unmeasured = -1

// record is a line of scripts/cost.txt: what a step may cost, in seconds, and why it is so much.
type record struct {
	name       string
	cold, warm float64
	sentence   string
	line       int
}

func (r record) of(kind string) float64 {
	if kind == cold {
		return r.cold
	}
	return r.warm
}

// parseRecord reads NAME COLD WARM # SENTENCE, a line each; file is for its errors. A dash is a
// number that was not measured yet, which the total does not have.
func parseRecord(file, text string) ([]record, error) {
	var list []record
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		r.line = i + 1
		if first := find(list, r.name); first != nil {
			return nil, fmt.Errorf("%s:%d: %s is there twice, first in line %d", file, i+1, r.name, first.line)
		}
		list = append(list, r)
	}
	return list, nil
}

func parseLine(line string) (record, error) {
	head, sentence, _ := strings.Cut(line, "#")
	fields := strings.Fields(head)
	r := record{sentence: strings.TrimSpace(sentence)}
	if len(fields) != 3 || r.sentence == "" {
		return r, fmt.Errorf("%q is not NAME COLD WARM # SENTENCE", line)
	}
	r.name = fields[0]
	for i, to := range []*float64{&r.cold, &r.warm} {
		if fields[i+1] == "-" && r.name != total {
			*to = unmeasured
			continue
		}
		var err error
		if *to, err = number(fields[i+1]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func find(list []record, name string) *record {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

// raised names each record that is above what it was and has the sentence that it had.
func raised(list, earlier []record) (errs []error) {
	for _, r := range list {
		old := find(earlier, r.name)
		if old == nil || r.sentence != old.sentence {
			continue
		}
		for _, kind := range []string{cold, warm} {
			if old.of(kind) != unmeasured && (r.of(kind) > old.of(kind) || r.of(kind) == unmeasured) {
				errs = append(errs, fmt.Errorf("%s:%d: %s, %s, was raised from %g: a new sentence has to give the reason", costFile, r.line, r.name, kind, old.of(kind)))
			}
		}
	}
	return errs
}

// cost is what one step spent.
type cost struct {
	name    string
	seconds float64
}

// parseSpent reads NAME SECONDS, a line each; what a name spent more than once is added up.
func parseSpent(file, text string) ([]cost, error) {
	var spent []cost
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s:%d: %q is not NAME SECONDS", file, i+1, line)
		}
		seconds, err := number(fields[1])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		at := slices.IndexFunc(spent, func(c cost) bool { return c.name == fields[0] })
		if at < 0 {
			at, spent = len(spent), append(spent, cost{name: fields[0]})
		}
		spent[at].seconds += seconds
	}
	return spent, nil
}

func sum(spent []cost) (seconds float64) {
	for _, c := range spent {
		seconds += c.seconds
	}
	return seconds
}

// compare returns what a run ends with, and whether its total is red: the numbers as the record has
// them, the steps that are above theirs, and the closing line.
func compare(list []record, spent []cost, kind string, clock int) (lines []string, red bool) {
	for _, c := range append(slices.Clone(spent), cost{total, sum(spent)}) {
		lines = append(lines, fmt.Sprintf("%s %.0f", c.name, c.seconds))
	}
	if kind == "none" {
		return append(lines, closing(sum(spent), "not compared", clock)), false
	}

	for _, c := range spent {
		switch r := find(list, c.name); {
		case r == nil:
			lines = append(lines, fmt.Sprintf("cost: %s has no line in %s", c.name, costFile))
		case r.of(kind) != unmeasured && c.seconds > notable*r.of(kind):
			lines = append(lines, fmt.Sprintf("cost: %s %.0f s, record %g, %s", c.name, c.seconds, r.of(kind), kind))
		}
	}
	whole := find(list, total)
	if whole == nil {
		lines = append(lines, fmt.Sprintf("cost: %s has no line %s", costFile, total))
		return append(lines, closing(sum(spent), "no record, "+kind, clock)), true
	}
	lines = append(lines, closing(sum(spent), fmt.Sprintf("record %s, %s", thousands(whole.of(kind)), kind), clock))
	return lines, sum(spent) > tooMuch*whole.of(kind)
}

func closing(seconds float64, comparison string, clock int) string {
	return fmt.Sprintf("cpu: %s s (%s), %d min of clock", thousands(seconds), comparison, (clock+30)/60)
}

// thousands writes 2214.4 as 2,214.
func thousands(seconds float64) string {
	text := strconv.FormatFloat(seconds, 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// lowered is the text of a record in which one number is what was spent, if that is less.
func lowered(file, text, name, kind string, spent []cost) (string, error) {
	list, err := parseRecord(file, text)
	if err != nil {
		return "", err
	}
	r := find(list, name)
	if r == nil {
		return "", fmt.Errorf("%s has no line %s: add one by hand, with a sentence", file, name)
	}
	at := slices.IndexFunc(spent, func(c cost) bool { return c.name == name })
	seconds := sum(spent)
	switch {
	case name == total:
	case at < 0:
		return "", fmt.Errorf("nothing was spent on %s", name)
	default:
		seconds = spent[at].seconds
	}

	if r.of(kind) != unmeasured && math.Ceil(seconds) >= r.of(kind) {
		return text, nil
	}
	to := &r.warm
	if kind == cold {
		to = &r.cold
	}
	*to = math.Ceil(seconds)
	lines := strings.Split(text, "\n")
	lines[r.line-1] = r.String()
	return strings.Join(lines, "\n"), nil
}

func (r record) String() string {
	column := func(seconds float64) string {
		if seconds == unmeasured {
			return "-"
		}
		return strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	return fmt.Sprintf("%s %s %s # %s", r.name, column(r.cold), column(r.warm), r.sentence)
}
