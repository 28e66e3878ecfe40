package seed

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every property of this module draws from the number: rapid draws from chance otherwise.
func TestEveryPropertyHasTheSeed(t *testing.T) {
	const root = "../../.."
	checked := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return fs.SkipDir // another module, which cannot import this package
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") || filepath.Base(filepath.Dir(name)) == "seed" {
			return nil
		}
		text, err := os.ReadFile(name)
		for _, line := range unseeded(string(text)) {
			t.Errorf("%s:%d: rapid draws from chance: write seed.Rapid(t) in front", name, line)
		}
		checked += strings.Count(string(text), "rapid.Check(t,")
		return err
	})
	if err != nil || checked < 20 {
		t.Errorf("%d properties, %v", checked, err)
	}
}

// unseeded are the lines that check a property without the seed in the line above, or above the
// loop.
func unseeded(text string) (found []int) {
	property := regexp.MustCompile(`\brapid\.(Check|MakeCheck)\(`)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		before := lines[max(0, i-1):i]
		if i > 1 && strings.HasPrefix(strings.TrimSpace(lines[i-1]), "for ") {
			before = lines[i-2 : i]
		}
		if property.MatchString(line) && !strings.Contains(strings.Join(before, "\n"), "seed.Rapid(t)") {
			found = append(found, i+1)
		}
	}
	return found
}

func TestUnseeded(t *testing.T) {
	text := "\tseed.Rapid(t)\n\trapid.Check(t, one)\n\trapid.Check(t, two)\n\tt.Run(\"x\", rapid.MakeCheck(three))\n"
	text += "\tnext := seed.Rapid(t)\n\tfor range 8 {\n\t\trapid.Check(t, four)\n"
	if got := fmt.Sprint(unseeded(text)); got != "[3 4]" {
		t.Errorf("lines %s without the seed", got)
	}
}
