// Command imports checks the rules of this repository that the compiler does not know.
//
//	go run ./scripts/imports [-root DIR] [imports|budgets|words|proofs]...
//
// "imports" is who may import whom, and what keeps recovery pure; rules.go is the table. "budgets"
// is the size of functions, files, types and packages, and the few forms that are refused. "words"
// is what comments, messages and Markdown do not say. "proofs" is which test proves what is
// promised of flows and of checkpoints; scripts/proofs.txt is the list. Without an argument the
// first three run. Every violation is printed as path:line with its reason. It exits 1 on a
// violation, and 2 when it could not look.
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

func main() {
	root := flag.String("root", ".", "`folder` that holds go.mod")
	flag.Parse()
	os.Exit(run(os.DirFS(*root), flag.Args(), os.Stdout, os.Stderr))
}

// run checks the tree and returns the exit code.
func run(tree fs.FS, names []string, stdout, stderr io.Writer) int {
	checks := map[string]func([]*source) []finding{
		"imports": func(list []*source) []finding { return each(list, checkImports) },
		"budgets": func(list []*source) []finding {
			return slices.Concat(each(list, checkBudgets), checkTotals(list), checkState(list))
		},
		"words":  checkWords,
		"proofs": func(list []*source) []finding { return checkProofs(tree, list) },
	}
	if len(names) == 0 {
		names = []string{"imports", "budgets", "words"}
	}
	for _, name := range names {
		if checks[name] == nil {
			fmt.Fprintf(stderr, "unknown check %q: there are imports, budgets, words and proofs\n", name)
			return 2
		}
	}
	sources, err := load(tree)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	code := 0
	for _, name := range names {
		violations := 0
		for _, f := range checks[name](sources) {
			fmt.Fprintln(stdout, f)
			if !f.note {
				violations++
			}
		}
		if violations > 0 {
			code = 1
		}
		fmt.Fprintf(stdout, "%s: %d files, %d violations\n", name, len(sources), violations)
	}
	return code
}

// each asks about one file after the other.
func each(sources []*source, check func(*source) []finding) (found []finding) {
	for _, s := range sources {
		found = append(found, check(s)...)
	}
	return found
}
