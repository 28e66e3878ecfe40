package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agent/host/objects"
)

// Every object that is published is compared with live output in a script, and every command with
// --json has one. // issue 17, part 6
func TestEveryObjectIsCompared(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	compared := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^fits ([a-z]+)`).FindAllStringSubmatch(string(text), -1) {
			compared[found[1]] = true
		}
	}
	of := ""
	for _, o := range objects.All() {
		of += o.Of + "\n"
		if !compared[o.Name] {
			t.Errorf("no script says: fits %s", o.Name)
		}
	}
	if !compared[objects.Line] {
		t.Error("no script compares event lines")
	}
	for _, c := range (&commandLine{}).commandsByName() {
		made := c.command()
		for _, f := range made.Flags {
			if f.Names()[0] == "json" && made.Name != "help" && !strings.Contains(of, made.Name) {
				t.Errorf("what agent %s --json prints is not published", made.Name)
			}
		}
	}
}
