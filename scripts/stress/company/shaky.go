package company

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"agent/scripts/ci/red"
)

// Line is a line of scripts/shaky.txt: a test that failed in company once and was excepted.
type Line struct {
	Package string
	Test    string
	Base    string // the last landing when it failed
	Text    string // the first line that it printed
}

func (l Line) String() string {
	return fmt.Sprintf("%s %s %s %s", l.Package, l.Test, l.Base, strconv.Quote(l.Text))
}

// covers reports whether a failure is of this test, of one of its cases, or of the test of which it
// is a case.
func (l Line) covers(failure red.Failure) bool {
	return l.Package == failure.Package &&
		(strings.HasPrefix(l.Test+"/", failure.Test+"/") || strings.HasPrefix(failure.Test+"/", l.Test+"/"))
}

// Except is the line of a test that failed in company and then passed every time.
func Except(failure red.Failure, base string) Line {
	return Line{Package: failure.Package, Test: failure.Test, Base: base[:min(8, len(base))], Text: firstLine(failure.Output)}
}

// firstLine is the first line that the test itself printed, without the place in its source, which
// moves.
func firstLine(output string) string {
	frame := regexp.MustCompile(`^\s*(===|---|FAIL\b|PASS\b|ok\b|$)`)
	place := regexp.MustCompile(`^\S+\.go:\d+: `)
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); !frame.MatchString(line) {
			return place.ReplaceAllString(line, "")
		}
	}
	return ""
}

// Shaky reads scripts/shaky.txt, under the name that errors have. Exists reports whether the module
// has a test.
func Shaky(name, text string, exists func(folder, test string) (bool, error)) ([]Line, error) {
	form := regexp.MustCompile(`^([^\s"]+) ([^\s"]+) ([0-9a-f]{7,40}) ("[^\n]*")$`)
	var all []Line
	first := map[string]int{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if text == "" {
			break
		}

		at := fmt.Sprintf("%s:%d", name, i+1)
		parts := form.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf(`%s: not PACKAGE TEST COMMIT "TEXT": %s`, at, line)
		}
		printed, err := strconv.Unquote(parts[4])
		if err != nil {
			return nil, fmt.Errorf("%s: %s is no quoted text", at, parts[4])
		}

		// Another name of the folder would be the test of no failure.
		if folder := parts[1]; path.Clean(folder) != folder || !filepath.IsLocal(folder) {
			return nil, fmt.Errorf("%s: %s is not how reds name a package, which is as host/serve", at, folder)
		}

		l := Line{Package: parts[1], Test: parts[2], Base: parts[3], Text: printed}
		found, err := exists(l.Package, l.Test)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if !found {
			return nil, fmt.Errorf("%s: there is no test %s %s", at, l.Package, l.Test)
		}

		key := l.Package + " " + l.Test
		if first[key] > 0 {
			return nil, fmt.Errorf("%s: %s is there twice, first in line %d", at, key, first[key])
		}
		first[key] = i + 1
		all = append(all, l)
	}
	return all, nil
}
