package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// NoneLeft waits until no goroutine has a name in its stack, and fails the test with the stacks of
// those that stay. A name begins with a package: "agent/host/serve." for all of it, or
// "agent/host/serve.(*Server).carry" for a method. Goroutines of tests themselves do not count, and
// one that has not begun yet has no name but that of its creator.
//
// A name that the module does not have, since it was renamed for example, is refused: it would
// never be found, whatever is left.
func NoneLeft(t testing.TB, name string) {
	t.Helper()
	if err := known(name); err != nil {
		t.Fatalf("look for goroutines of %q: %v", name, err)
		return
	}
	realTime().noneLeft(t, name, stacks)
}

func (w watch) noneLeft(t testing.TB, name string, stacks func() []byte) {
	t.Helper()
	var left []string
	if !w.await(func() bool { left = having(stacks(), name); return len(left) == 0 }) {
		t.Fatalf("timed out after %s: waited until no goroutine of %s is left:\n%s", w.limit, name, strings.Join(left, "\n\n"))
	}
}

// having returns the stacks that have the name at the start of a line, or of the line that names
// who created the goroutine. The first stack is the caller's.
func having(stacks []byte, name string) (found []string) {
	all := strings.Split(strings.TrimSpace(string(stacks)), "\n\n")
	for _, stack := range all[1:] {
		if strings.Contains(stack, "\ntesting.tRunner(") || strings.Contains(stack, "\nmain.main()") {
			continue // a test, or what runs the tests
		}
		if strings.Contains(stack, "\n"+name) || strings.Contains(stack, "\ncreated by "+name) {
			found = append(found, stack)
		}
	}
	return found
}

// known refuses a name that does not begin with a package of the module of the folder that a test
// runs in.
func known(name string) error {
	slash := strings.LastIndexByte(name, '/') + 1
	base, _, ok := strings.Cut(name[slash:], ".")
	if !ok {
		return fmt.Errorf(`want a package and a dot, as in "agent/host/serve."`)
	}
	root, module, err := moduleHere()
	if err != nil {
		return err
	}

	path := name[:slash] + base
	below, ok := strings.CutPrefix(path+"/", module+"/")
	if !ok {
		return fmt.Errorf("package %s is not one of module %s", path, module)
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(below), "*.go"))
	if err != nil {
		return fmt.Errorf("package %s: %w", path, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("module %s has no package %s", module, path)
	}
	_, declared, _ := strings.Cut(name[slash:], ".")
	return declares(files, path, declared)
}

// declares refuses a name behind a package, such as "(*Server).carry", that has a type, a function
// or a method which none of the files declares.
func declares(files []string, path, name string) error {
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read package %s: %w", path, err)
		}
		code.Write(text)
	}

	for _, identifier := range regexp.MustCompile(`\w+`).FindAllString(name, -1) {
		form := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + identifier + `\b`)
		if !form.MatchString(code.String()) {
			return fmt.Errorf("package %s declares no type and no function %s", path, identifier)
		}
	}
	return nil
}

// moduleHere finds the module of the working folder: its root and its path.
func moduleHere() (root, path string, err error) {
	root, err = os.Getwd()
	if err != nil {
		return "", "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil {
			for line := range strings.Lines(string(text)) {
				if path, ok := strings.CutPrefix(line, "module "); ok {
					return root, strings.TrimSpace(path), nil
				}
			}
			return "", "", fmt.Errorf("%s names no module", filepath.Join(root, "go.mod"))
		}

		if parent := filepath.Dir(root); parent != root {
			root = parent
			continue
		}
		return "", "", fmt.Errorf("no go.mod above the working folder: %w", err)
	}
}
