package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The outcome of a test may not depend on a time that passes sooner than shortest: a busy machine
// needs it for nothing. What is new waits at least as long as testkit does.
const (
	shortest    = 10 * time.Second
	shortestNew = 60 * time.Second
)

// checkTimes finds what in tests depends on the speed of the machine, or on a number that the
// kernel did not give: in Go and in the scripts that tests run. An exception is "// time: REASON"
// behind the line, "# time: REASON" in a script; the change since the last landing may not add one.
func checkTimes(tree fs.FS, sources []*source) ([]finding, error) {
	change, err := readChange(tree)
	if err != nil {
		return nil, fmt.Errorf("compare tests with the last landing: %w", err)
	}
	scripts, err := scriptsOf(tree, sources)
	if err != nil {
		return nil, fmt.Errorf("read the scripts of tests: %w", err)
	}

	var found []finding
	p := newProgram(sources)
	p.checkTests()
	flow := follow(p, sources)
	for _, s := range sources {
		if forTests(s) {
			found = append(found, excepted(s.path, s.text, timesOf(p, flow, s, limitOf(s.path, change)))...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		found = append(found, excepted(name, scripts[name], pausesOf(name, string(scripts[name])))...)
	}
	return append(found, moreExceptions(change)...), nil
}

// forTests reports whether a file is one of tests, or of what tests share: it imports package
// testing. The kit that waits for all of them is the one exception.
func forTests(s *source) bool {
	if s.syntax == nil || s.dir == testkit {
		return false
	}
	return s.test || slices.ContainsFunc(s.syntax.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == `"testing"` })
}

func limitOf(name string, c changed) time.Duration {
	if _, ok := c.now[name]; ok && !c.first() {
		return shortestNew
	}
	return shortest
}

// scriptsOf are the scripts that tests run, and those of bash. What they printed is none.
func scriptsOf(tree fs.FS, sources []*source) (map[string][]byte, error) {
	scripts := map[string][]byte{}
	for _, s := range sources {
		if ext := path.Ext(s.path); ext == "" || ext == ".sh" || ext == ".bash" {
			scripts[s.path] = s.text
		}
	}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == "scripts/results" || d.IsDir() && name != "." && path.Base(name) != "testdata" && skipDir(path.Base(name)) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".txt" {
			return nil
		}
		scripts[name], err = fs.ReadFile(tree, name)
		return err
	})
	return scripts, err
}

// exceptions are the reasons of the exceptions in a text by line: of comments behind code.
func exceptions(name string, text []byte) map[int]string {
	reasons := map[int]string{}
	if path.Ext(name) != ".go" {
		form, line := regexp.MustCompile(`\S\s*# time:(.*)$`), 0
		for code := range strings.Lines(string(text)) {
			line++
			if m := form.FindStringSubmatch(strings.TrimRight(code, "\n")); m != nil {
				reasons[line] = strings.TrimSpace(m[1])
			}
		}
		return reasons
	}

	var s scanner.Scanner
	file := token.NewFileSet().AddFile(name, -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments) // what does not parse is refused elsewhere
	for code := 0; ; {
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		switch reason, ok := strings.CutPrefix(lit, "// time:"); {
		case tok == token.EOF:
			return reasons
		case tok != token.COMMENT:
			code = line + strings.Count(lit, "\n")
		case ok && code == line:
			reasons[line] = strings.TrimSpace(reason)
		}
	}
}

// excepted leaves out what has an exception with a reason, and adds exceptions without one, and
// those that except nothing.
func excepted(name string, text []byte, found []finding) (left []finding) {
	reasons := exceptions(name, text)
	used := map[int]bool{}
	for _, f := range found {
		reason, ok := reasons[f.line]
		used[f.line] = used[f.line] || ok
		switch {
		case !ok:
			left = append(left, f)
		case reason == "":
			f.text += "; its exception has no reason: \"time: REASON\""
			left = append(left, f)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(reasons)) {
		if !used[line] {
			left = append(left, finding{path: name, line: line, text: "an exception of nothing: remove \"time: " + reasons[line] + "\""})
		}
	}
	slices.SortStableFunc(left, func(a, b finding) int { return a.line - b.line })
	return slices.Compact(left)
}

// changed is the change since the last landing: its files as they are, and as they were. A file
// that was not there, or is no longer, is not in the one or the other.
type changed struct{ now, was map[string][]byte }

// first reports whether the change brings this check: then nothing was excepted before.
func (c changed) first() bool {
	const here = "scripts/imports/times.go"
	return c.now[here] != nil && c.was[here] == nil
}

// readChange reads the files that differ from the last landing. A tree that knows of none is not
// compared.
func readChange(tree fs.FS) (changed, error) {
	c := changed{map[string][]byte{}, map[string][]byte{}}
	landed, ok := tree.(interface {
		Changed() ([]string, error)
		Was(name string) ([]byte, error)
	})
	if !ok {
		return c, nil
	}
	names, err := landed.Changed()
	if err != nil {
		return c, err
	}

	for _, name := range names {
		now, err := fs.ReadFile(tree, name)
		if err == nil {
			c.now[name] = now
		} else if !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}

		was, err := landed.Was(name)
		if err == nil {
			c.was[name] = was
		} else if !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return c, nil
}

// moreExceptions compares how many exceptions the files of the change have with how many they had.
func moreExceptions(c changed) []finding {
	if c.first() {
		return nil
	}
	count := func(files map[string][]byte) (n int, last finding) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for _, line := range slices.Sorted(maps.Keys(exceptions(name, files[name]))) {
				n++
				last = finding{path: name, line: line}
			}
		}
		return n, last
	}

	before, _ := count(c.was)
	after, last := count(c.now)
	if after <= before {
		return nil
	}
	last.text = fmt.Sprintf("the change has %d exceptions of times, the last landing had %d in these files: wait for an event instead", after, before)
	return []finding{last}
}
