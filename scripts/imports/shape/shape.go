// Package shape measures the form of a Go module, and compares the figures with a record.
//
// Load reads and type-checks the module, Module.Measures counts, and a Record holds the values of
// the measures that moving code from one function, file or package to another does not improve.
// Only those can fail. All others are for the reader: they grow with every feature, or are met by
// moving code.
//
// The module is type-checked as far as its own packages go. Each package of another module, the
// standard library among them, is an empty one, so that nothing is built and nothing fetched. A
// value that passed through a function of such a package has no type here, and what is done with it
// counts nowhere.
//
// Tests, generated code and modules within the module are not measured. Of files for one system,
// those for Linux are, on whatever system the program runs: a figure depends on the sources alone.
package shape

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Measure is one figure of a module. Less is better.
type Measure struct {
	Name     string
	Help     string
	Recorded bool
	Value    float64  // rounded as Figure prints it, so that it is what a record can hold
	Found    []string // what counts, the most important first
}

// A kind is what a measure is before anything was counted.
type kind struct {
	name     string
	recorded bool
	help     string
	count    func(*Module) (value float64, found []string)
}

// kinds are all measures, the recorded ones first.
func kinds() []kind {
	all := slices.Concat(valueKinds(), stateKinds(), nameKinds(), functionKinds(), duplicateKinds(), roomKinds())
	slices.SortStableFunc(all, func(a, b kind) int {
		switch {
		case a.recorded == b.recorded:
			return 0
		case a.recorded:
			return -1
		}
		return 1
	})
	return all
}

// Measures counts everything.
func (m *Module) Measures() []Measure {
	var all []Measure
	for _, k := range kinds() {
		value, found := k.count(m)
		all = append(all, Measure{Name: k.name, Help: k.help, Recorded: k.recorded, Value: rounded(value), Found: found})
	}
	return all
}

// Names are the names of all measures.
func Names() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Figure prints a value as a record has it: a whole number, or a rate with two places.
func Figure(v float64) string {
	if v == math.Trunc(v) || v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// rounded is the value that Figure prints.
func rounded(v float64) float64 {
	if v >= 1000 {
		return math.Round(v)
	}
	return math.Round(v*100) / 100
}

// ranked is a count with the lines that it counts, the highest number first.
func ranked(found []string) (float64, []string) {
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(b, a) })
	return float64(len(found)), found
}

// wordSet is the set of the words of a text.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}
