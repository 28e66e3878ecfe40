// Package pick finds the tests that a change touches, by comparing the syntax of test files with
// what they were.
//
// A test is touched if it is new or differs, or if it reaches, through any number of helpers in the
// test files of its package, a declaration that is new or differs: a helper, a constant, a type.
// TestMain is reached by all. Comments, line breaks and the file of a declaration are no
// difference.
//
// A file below testdata/script is the script of its name, run by TestScripts. Another file below
// testdata touches the tests that reach a text with its name; if there are none, those that reach a
// text with the name of a folder above it; and if there are none either, all tests of the
// package. What the product does is no part of this: a changed product is tried by all tests, once.
package pick

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// scripts is the test that runs the files of a folder, and scriptFolder is that folder.
const (
	scripts      = "TestScripts"
	scriptFolder = "testdata/script"
)

// Test is a test, or one script of TestScripts, by the folder of its package.
type Test struct {
	Package string // slash-separated and below the root: host/serve
	Name    string // TestReload, or TestScripts/reload
}

func (t Test) String() string { return t.Package + " " + t.Name }

// Changed are the tests below root that the changed files touch. Was returns the bytes that a file
// had before, and fs.ErrNotExist where there was none.
func Changed(root string, files []string, was func(name string) ([]byte, error)) ([]Test, error) {
	var all []Test
	for folder, changed := range byPackage(files) {
		found, err := inPackage(root, folder, changed, was)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Test) int {
		return strings.Compare(a.Package+"\n"+a.Name, b.Package+"\n"+b.Name)
	})
	return slices.Compact(all), nil
}

// byPackage are the files that tests consist of or read, by the folder of the package.
func byPackage(files []string) map[string][]string {
	packages := map[string][]string{}
	for _, name := range files {
		folder := path.Dir(name)
		before, _, fixture := strings.Cut("/"+folder+"/", "/testdata/")
		switch {
		case fixture:
			folder = path.Clean(strings.TrimPrefix(before, "/"))
		case !strings.HasSuffix(name, "_test.go"):
			continue
		}
		packages[folder] = append(packages[folder], name)
	}
	return packages
}

// inPackage are the tests of one package that its changed files touch.
func inPackage(root, folder string, changed []string, was func(name string) ([]byte, error)) ([]Test, error) {
	read := func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	}

	names, err := testFiles(root, folder)
	if err != nil {
		return nil, err
	}
	present, err := parse(names, read)
	if err != nil {
		return nil, err
	}

	for _, name := range changed {
		if strings.HasSuffix(name, "_test.go") && !slices.Contains(names, name) && path.Dir(name) == folder {
			names = append(names, name) // it was removed; what it had may be in another file now
		}
	}
	earlier, err := parse(names, was)
	if err != nil {
		return nil, err
	}

	touched := differing(present, earlier)
	var found []Test
	for _, name := range changed {
		_, fixture, below := strings.Cut(name, "/testdata/")
		if !below {
			continue
		}

		if script, ok := scriptName(folder, name); ok && slices.ContainsFunc(present, declares(scripts)) {
			if _, err := read(name); err == nil { // one that was removed cannot be run
				found = append(found, Test{Package: folder, Name: scripts + "/" + script})
			}
			continue
		}

		touched = append(touched, mentioning(present, fixture)...)
	}

	for _, d := range reaching(present, touched) {
		if d.isTest() {
			found = append(found, Test{Package: folder, Name: d.name})
		}
	}
	return found, nil
}

// scriptName is the name of a script by its file.
func scriptName(folder, name string) (string, bool) {
	file, ok := strings.CutPrefix(name, path.Join(folder, scriptFolder)+"/")
	script, isText := strings.CutSuffix(file, ".txt")
	return script, ok && isText && !strings.Contains(script, "/")
}

// In are the tests that the test files of a folder declare, for any system.
func In(root, folder string) ([]string, error) {
	names, err := testFiles(root, folder)
	if err != nil {
		return nil, err
	}
	return testsOf(root, names)
}

// Exists reports whether a test, or a script of TestScripts, is there.
func Exists(root string, test Test) (bool, error) {
	function, script, below := strings.Cut(test.Name, "/")
	names, err := In(root, test.Package)
	if err != nil || !slices.Contains(names, function) {
		return false, err
	}
	if !below || function != scripts {
		return true, nil
	}
	_, err = os.Stat(filepath.Join(root, filepath.FromSlash(test.Package), scriptFolder, script+".txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Declared are the tests that some files of a folder declare.
func Declared(root, folder string, files []string) ([]string, error) {
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, path.Join(folder, file))
	}
	return testsOf(root, names)
}

func testsOf(root string, names []string) ([]string, error) {
	declared, err := parse(names, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	})
	if err != nil {
		return nil, err
	}

	var tests []string
	for _, d := range declared {
		if d.isTest() {
			tests = append(tests, d.name)
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests), nil
}

// testFiles are the test files of a folder, which need not exist.
func testFiles(root, folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), "_test.go") {
			names = append(names, path.Join(folder, e.Name()))
		}
	}
	return names, nil
}
