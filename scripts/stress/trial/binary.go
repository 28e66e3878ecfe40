//go:build linux

package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agent/scripts/stress/pick"
)

// Binary is the test binary of one package.
type Binary struct {
	File   string
	Folder string // of the package, where it is run
}

// Build builds the test binary of the package in a folder, as a file below into. What the package
// has for another system is not in it.
func Build(ctx context.Context, root, folder, into string, race bool) (Binary, error) {
	dir := filepath.Join(root, filepath.FromSlash(folder))
	b := Binary{File: filepath.Join(into, strings.ReplaceAll(folder, "/", "-")+".test"), Folder: dir}
	args := []string{"test", "-c", "-o", b.File}
	if race {
		args = append(args, "-race")
	}

	c := exec.CommandContext(ctx, "go", append(args, ".")...)
	c.Dir = dir
	c.WaitDelay = 10 * time.Second
	if out, err := c.CombinedOutput(); err != nil {
		return Binary{}, fmt.Errorf("build the tests of %s: %w\n%s", folder, err, out)
	}
	if _, err := os.Stat(b.File); err != nil { // go leaves nothing where there is no test
		return Binary{}, fmt.Errorf("build the tests of %s: it has none on this system", folder)
	}
	return b, nil
}

// Built reports which tests of a package this system builds, and why the package cannot be looked
// at.
func Built(ctx context.Context, root, folder string) (map[string]bool, error) {
	// With -e, a package of which this system builds nothing is one without tests.
	c := exec.CommandContext(ctx, "go", "list", "-e", "-json=TestGoFiles,XTestGoFiles,IgnoredGoFiles,Error", ".")
	c.Dir = filepath.Join(root, filepath.FromSlash(folder))
	if _, err := os.Stat(c.Dir); err != nil {
		return nil, fmt.Errorf("there is no package %s: %w", folder, err)
	}
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w\n%s", folder, err, problems.Bytes())
	}

	var found struct {
		TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
		Error                                     *struct{ Err string }
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", folder, err)
	}
	files := append(found.TestGoFiles, found.XTestGoFiles...)
	if found.Error != nil && (len(files) > 0 || len(found.IgnoredGoFiles) == 0) {
		return nil, fmt.Errorf("list the tests of %s: %s", folder, found.Error.Err)
	}
	tests, err := pick.Declared(root, folder, files)
	built := map[string]bool{}
	for _, name := range tests {
		built[name] = true
	}
	return built, err
}
