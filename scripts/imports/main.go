// Command imports checks the rules of this repository that the compiler does not know.
//
//	go run ./scripts/imports [-root DIR] [imports|forms|proofs|times|shape]...
//
// "imports" is who may import whom, and what keeps recovery pure; rules.go is the table. "forms" is
// the few forms of code, tests and comments that are refused. "proofs" is which test proves what is
// promised of flows and of checkpoints; scripts/proofs.txt is the list. "times" is what makes the
// outcome of a test depend on the speed of the machine. Without an argument the first two run.
// Every violation is printed as path:line with its reason. It exits 1 on a violation, and 2 when it
// could not look.
//
// "shape" prints what the form of the main module measures. Six of the figures have a record,
// scripts/shape.txt, and may be 2 % above it. A record that is higher than at the last landing
// needs a new sentence.
//
//	go run ./scripts/imports shape                  the figures, and their records
//	go run ./scripts/imports shape -v MEASURE       what a measure counts
//	go run ./scripts/imports shape -update MEASURE  lowers the record of a measure to its figure
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"agent/scripts/landed/change"
)

func main() {
	root := flag.String("root", ".", "`folder` that holds go.mod")
	flag.Parse()
	os.Exit(run(openRepository(*root), flag.Args(), os.Stdout, os.Stderr))
}

// repository is a checkout: a tree that can be written to, and that knows the last landing.
type repository struct {
	fs.FS
	root   string
	landed func() (change.Change, error)
}

func openRepository(root string) repository {
	find := func() (change.Change, error) { return change.Find(root) }
	return repository{os.DirFS(root), root, sync.OnceValues(find)}
}

func (r repository) WriteFile(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.root, filepath.FromSlash(name)), text, 0o644)
}

// Changed lists the files that differ from the last landing.
func (r repository) Changed() ([]string, error) {
	c, err := r.landed()
	return c.Files, err
}

// Was returns the bytes that a file had at the last landing.
func (r repository) Was(name string) ([]byte, error) {
	c, err := r.landed()
	if err != nil {
		return nil, err
	}
	return c.Was(name)
}

// run checks the tree and returns the exit code.
func run(tree fs.FS, args []string, stdout, stderr io.Writer) int {
	names, options, err := parse(args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	sources := sync.OnceValues(func() ([]*source, error) { return load(tree) })

	code := 0
	for _, name := range names {
		var violations int
		if name == "shape" {
			violations, err = checkShape(tree, options, stdout)
		} else {
			violations, err = checkSources(tree, name, sources, stdout)
		}
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 2
		}
		if violations > 0 {
			code = 1
		}
	}
	return code
}

// parse takes the names of checks apart from the flags behind "shape".
func parse(args []string) (names []string, options shapeOptions, err error) {
	names = args
	if i := slices.Index(args, "shape"); i >= 0 {
		var others []string
		if options, others, err = parseShape(args[i+1:]); err != nil {
			return nil, options, err
		}
		names = slices.Concat(args[:i+1], others)
	}
	if len(names) == 0 {
		names = []string{"imports", "forms"}
	}

	for _, name := range names {
		if !slices.Contains([]string{"imports", "forms", "proofs", "times", "shape"}, name) {
			return nil, options, fmt.Errorf("unknown check %q: there are imports, forms, proofs, times and shape", name)
		}
	}
	return names, options, nil
}

// checkSources runs a check that looks at one file after the other, and counts the violations.
func checkSources(tree fs.FS, name string, sources func() ([]*source, error), stdout io.Writer) (violations int, err error) {
	list, err := sources()
	if err != nil {
		return 0, err
	}
	var found []finding
	switch name {
	case "imports":
		found = each(list, checkImports)
	case "forms":
		found = slices.Concat(each(list, checkForms), checkState(list), each(list, checkBuilds))
	case "proofs":
		found = checkProofs(tree, list)
	case "times":
		if found, err = checkTimes(tree, list); err != nil {
			return 0, err
		}
	}

	for _, f := range found {
		fmt.Fprintln(stdout, f)
		if !f.note {
			violations++
		}
	}
	fmt.Fprintf(stdout, "%s: %d files, %d violations\n", name, len(list), violations)
	return violations, nil
}

// each checks one file after the other.
func each(sources []*source, check func(*source) []finding) (found []finding) {
	for _, s := range sources {
		found = append(found, check(s)...)
	}
	return found
}
