// Package seed gives tests and labs the one number from which they draw: the same lists in each run
// of a gate, so that no landing depends on what was drawn for it.
//
// The number is in scripts/seed.txt, and 1 at first. It is moved on purpose, together with the
// repair of what the next number finds. AGENT_SEED replaces it in one run, to look for more, or to
// repeat what such a run found.
package seed

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Variable is the environment variable that replaces the number of the file.
const Variable = "AGENT_SEED"

// file is where the number is, below the root of the repository.
const file = "scripts/seed.txt"

// Test is what of a test or benchmark is used here.
type Test interface {
	Helper()
	Name() string
	Failed() bool
	Cleanup(func())
	Logf(format string, args ...any)
	Fatal(args ...any)
}

// Read returns the number for a program in a folder of the repository, and the root of that.
func Read(folder string) (number uint64, root string, err error) {
	if root, err = filepath.Abs(folder); err != nil {
		return 0, "", err
	}
	var text []byte
	for {
		// A read, so that go test knows that a result depends on the file.
		text, err = os.ReadFile(filepath.Join(root, file))
		above := filepath.Dir(root)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || above == root {
			break
		}
		root = above
	}
	if err != nil {
		return 0, "", fmt.Errorf("read %s above %s: %w", file, folder, err)
	}

	from := file
	if replaced := os.Getenv(Variable); replaced != "" {
		text, from = []byte(replaced), Variable
	}
	number, err = strconv.ParseUint(strings.TrimSuffix(string(text), "\n"), 10, 32)
	if err != nil || number == 0 {
		return 0, "", fmt.Errorf("%s: %q is no number from 1 to 4294967295", from, text)
	}
	return number, root, nil
}

// Number returns the number for a test. If the test fails, it prints the number and the command
// that repeats the run.
func Number(t Test) uint64 {
	t.Helper()
	number, root, err := Read(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("drawn from seed %d; again: %s", number, again(t.Name(), root, number))
		}
	})
	return number
}

// First returns the first of n numbers in a row, from 0 for seed 1: the next seed has the next n.
func First(t Test, n uint64) uint64 {
	t.Helper()
	return (Number(t) - 1) * n
}

// Numbers are the seeds of n drawn cases, those of First.
func Numbers(t Test, n uint64) iter.Seq[uint64] {
	t.Helper()
	first := First(t, n)
	return func(yield func(uint64) bool) {
		for i := range n {
			if !yield(first + i) {
				return
			}
		}
	}
}

// Rapid makes the properties that this process checks from now on draw from the number, unless its
// command line or environment has a seed for them: rapid itself draws another one in each run. What
// it returns moves on to a further seed that follows from the number, for whoever checks a property
// again.
func Rapid(t Test) (next func()) {
	t.Helper()
	own := flag.Lookup("rapid.seed")
	if own == nil {
		t.Fatal("the package uses no rapid")
	}
	if own.Value.String() != "0" {
		return func() {}
	}
	seed, _, err := Read(".")
	if err != nil {
		t.Fatal(err)
	}

	set := func(to uint64) {
		t.Helper()
		if err := own.Value.Set(strconv.FormatUint(to, 10)); err != nil {
			t.Fatal(err)
		}
	}
	set(seed)
	t.Cleanup(func() { set(0) })
	return func() {
		seed += 1 << 32 // far away, as rapid takes those that follow for further cases
		set(seed)
	}
}

// again is the command that repeats a test from the root.
func again(test, root string, number uint64) string {
	folder := "."
	if here, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(root, here); err == nil {
			folder = filepath.ToSlash(below)
		}
	}
	form := ""
	if tests := os.Getenv("AGENT_TESTS"); tests != "" {
		form = "AGENT_TESTS=" + tests + " "
	}
	function, _, _ := strings.Cut(test, "/")
	return fmt.Sprintf("%s=%d %sgo test -count=1 -run '^%s$' ./%s", Variable, number, form, function, folder)
}
