package lab_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every story that the table of the package names is there.
func TestTheTable(t *testing.T) {
	table, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, folder := range []string{".", "../model", "../custody", "../client"} {
		files, err := filepath.Glob(folder + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", folder, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	names := regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(string(table), -1)
	for _, name := range names {
		if name != "TestFigures" && !strings.Contains(all.String(), "func "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
	if len(names) < 40 {
		t.Errorf("the table names %d stories", len(names))
	}
}
