package company

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Red is a failure of .ci/run: one JSON object a line.
type Red struct {
	Step    string `json:"step"`
	Package string `json:"package"` // its folder, or its import path
	Test    string `json:"test"`
	Output  string `json:"output"` // what the test printed

	line []byte // with the fields that matter to others
}

// Reds reads a file of failures, whose name is for errors.
func Reds(name string, text []byte) ([]Red, error) {
	var all []Red
	for i, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		red := Red{line: line}
		if err := json.Unmarshal(line, &red); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		if red.Step == "" {
			return nil, fmt.Errorf("%s:%d: a failure has a step", name, i+1)
		}
		all = append(all, red)
	}
	return all, nil
}

// Write is a file of failures, each as it was read.
func Write(reds []Red) []byte {
	var text []byte
	for _, red := range reds {
		text = append(append(text, red.line...), '\n')
	}
	return text
}

// String names a failure for people.
func (r Red) String() string {
	return strings.Join(strings.Fields(r.Step+" "+r.Package+" "+r.Test), " ")
}

// firstLine is the first line that the test itself printed, without the place in its source, which
// moves.
func (r Red) firstLine() string {
	frame := regexp.MustCompile(`^\s*(===|---|FAIL\b|PASS\b|ok\b|$)`)
	place := regexp.MustCompile(`^\S+\.go:\d+: `)
	for line := range strings.Lines(r.Output) {
		if line = strings.TrimSpace(line); !frame.MatchString(line) {
			return place.ReplaceAllString(line, "")
		}
	}
	return ""
}

// Except is the line of a test that passed every time.
func (r Red) Except(base string) Line {
	return Line{Package: r.Package, Test: r.Test, Base: base[:min(8, len(base))], Text: r.firstLine()}
}
