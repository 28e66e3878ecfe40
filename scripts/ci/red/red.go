// Package red is what failed in a run of .ci/run: a file with one failure in JSON a line, and the
// last lines that a person reads.
package red

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Failure is one red: a step, or a test of a step.
type Failure struct {
	Step    string `json:"step"`
	Package string `json:"package,omitempty"` // its folder, such as host/serve; "." is the root
	Test    string `json:"test,omitempty"`    // TestReload, or TestScripts/reload; "" if the package failed outside of its tests
	Output  string `json:"output,omitempty"`  // what the test printed
	Command string `json:"command"`           // repeats it alone
	Why     string `json:"why,omitempty"`     // where it is not the step itself that failed
}

// Append adds failures to the file.
func Append(file string, failures []Failure) error {
	lines, err := Encode(failures)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if _, err := out.Write(lines); err != nil {
		out.Close() // the error of the write is the one to show
		return fmt.Errorf("write %s: %w", file, err)
	}
	return out.Close()
}

// Encode returns the text of a file with these failures. It keeps < and & as they are: commands are
// read by people too.
func Encode(failures []Failure) ([]byte, error) {
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	for _, f := range failures {
		if err := e.Encode(f); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}

// Parse reads the text of a file; name is for its errors.
func Parse(name, text string) ([]Failure, error) {
	var failures []Failure
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var f Failure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		if f.Step == "" || f.Command == "" {
			return nil, fmt.Errorf("%s:%d: a failure has a step and a command", name, i+1)
		}
		failures = append(failures, f)
	}
	return failures, nil
}

// Lines are the failures as .ci/run ends with them, in columns.
func Lines(failures []Failure) []string {
	steps, tests := 0, 0
	for _, f := range failures {
		steps, tests = max(steps, len(f.Step)), max(tests, len(f.subject()))
	}

	var lines []string
	for _, f := range failures {
		line := fmt.Sprintf("red: %-*s  %-*s  %s", steps, f.Step, tests, f.subject(), f.Command)
		if f.Why != "" {
			line += "  # " + f.Why
		}
		lines = append(lines, line)
	}
	return lines
}

// String names a failure for people.
func (f Failure) String() string {
	return strings.TrimSpace(f.Step + " " + f.subject())
}

func (f Failure) subject() string {
	return strings.TrimSpace(f.Package + " " + f.Test)
}
