package trial

import (
	"bytes"
	"regexp"
	"strings"
)

// Outcome is how a run of a test ended.
type Outcome int

const (
	Failed  Outcome = iota
	Passed          // it ran, and passed
	Skipped         // it ran, and left itself out
	Missing         // the binary has no such test
	TooDear         // it was ended because it used more processor time than it may
)

// mark is what a test binary puts in front of its own lines with -test.v=test2json.
const mark = "\x16"

// read finds how a run ended, by whether its process succeeded and what it printed. A success
// without the line of the test is none: nothing of it ran. What a test printed without an end of
// line is in front of the mark.
func read(name string, succeeded bool, output []byte) Outcome {
	ended := func(how string) bool {
		line := regexp.MustCompile(mark + ` *--- ` + how + `: ` + regexp.QuoteMeta(name) + ` \(`)
		return line.Match(output)
	}
	switch {
	case !succeeded:
		return Failed
	case ended("SKIP"):
		return Skipped
	case ended("PASS"):
		return Passed
	}
	return Missing
}

// plain is the output without its marks.
func plain(output []byte) []byte { return bytes.ReplaceAll(output, []byte(mark), nil) }

// pattern is the argument of -test.run for one test or subtest.
func pattern(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	return strings.Join(elements, "/")
}
