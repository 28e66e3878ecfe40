package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"agent/scripts/landed/change"
)

// shapeTree is a module that has all folders that the measures know by name, and a record of it.
func shapeTree() fstest.MapFS {
	files := map[string]string{
		"go.mod":                "module agent\n",
		"db/a.go":               "package db\n\ntype T int\n\ntype U int\n",
		"tools/a.go":            "package tools\n",
		"recovery/a.go":         "package recovery\n",
		"host/command/serve.go": "package command\n\nimport \"agent/db\"\n\ntype One = db.T\n",
		"host/serve/a.go":       "package serve\n",
		"host/acp/a.go":         "package acp\n",
		"host/model/a.go":       "package model\n",
		shapeRecord:             "foreign-values 0 0\naliases 1 0\nwidest-state 1 0\nwide-states 0 0\ndialect-in-comments 0 0\nfunction-word-names 0 0\n",
	}
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

// shapeOf runs the check over a tree.
func shapeOf(tree fstest.MapFS, args ...string) (code int, output string) {
	var stdout, stderr strings.Builder
	code = run(tree, append([]string{"shape"}, args...), &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// set changes a file of a tree.
func set(tree fstest.MapFS, name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }

func TestShapePrintsAllFigures(t *testing.T) {
	code, output := shapeOf(shapeTree())
	if code != 0 || strings.Count(output, "\n") != 16 || !strings.HasSuffix(output, "shape: 0 violations\n") {
		t.Errorf("exit code %d, output:\n%s", code, output)
	}
	for _, want := range []string{"aliases                       1   record      1   goal      0\n", "packages                      7\n"} {
		if !strings.Contains(output, want) {
			t.Errorf("output:\n%swant %q", output, want)
		}
	}
}

// Only the recorded measures can fail; all figures are printed all the same.
func TestShapeFailsAboveTheRecord(t *testing.T) {
	tree := shapeTree()
	set(tree, "host/command/rows.go", "package command\n\nimport \"agent/db\"\n\ntype Two = db.T\n\ntype Three = db.U\n")
	code, output := shapeOf(tree)
	want := shapeRecord + ":2: aliases is 3, its record 1: `go run ./scripts/imports shape -v aliases` lists what counts\nshape: 1 violations\n"
	if code != 1 || !strings.HasSuffix(output, want) || !strings.Contains(output, "packages ") {
		t.Errorf("exit code %d, output:\n%swant %q", code, output, want)
	}

	tree = shapeTree()
	set(tree, "db/long.go", "package db\n\nfunc f() {\n"+strings.Repeat("\tg()\n", 1000)+"}\n")
	if code, output := shapeOf(tree); code != 0 || !strings.Contains(output, "long-functions                1\n") {
		t.Errorf("a long function: exit code %d, output:\n%s", code, output)
	}
}

func TestShapeListsWhatCounts(t *testing.T) {
	code, output := shapeOf(shapeTree(), "-v", "aliases")
	if want := "host/command/serve.go:5 One\naliases: 1: second names for what another package declares, and pass-through functions\n"; code != 0 || output != want {
		t.Errorf("exit code %d, output:\n%swant:\n%s", code, output, want)
	}
}

func TestShapeRefusesABrokenRecord(t *testing.T) {
	for _, args := range [][]string{nil, {"-update", "aliases"}} {
		tree := shapeTree()
		set(tree, shapeRecord, string(tree[shapeRecord].Data)+"aliases 2 0\n")
		code, output := shapeOf(tree, args...)
		if want := "scripts/shape.txt:7: aliases is there twice, first in line 2\nshape: 1 violations\n"; code != 1 || output != want {
			t.Errorf("%v: exit code %d, output:\n%swant:\n%s", args, code, output, want)
		}
	}
}

// A figure that counts nothing, since its table names a folder that was moved, is no new record.
func TestShapeRefusesTablesOfBefore(t *testing.T) {
	tree := shapeTree()
	delete(tree, "host/acp/a.go")
	set(tree, "host/command/serve.go", "package command\n")
	want := "scripts/imports/shape/layers.go:1: the table of refused layers names host/acp, and no package is there\nshape: 1 violations\n"
	for _, args := range [][]string{nil, {"-update", "aliases"}} {
		if code, output := shapeOf(tree, args...); code != 1 || !strings.HasSuffix(output, want) {
			t.Errorf("%v: exit code %d, output:\n%swant %q", args, code, output, want)
		}
	}
}

// landed is a tree with its state at the last landing.
type landed struct {
	fstest.MapFS
	was fstest.MapFS
}

func (l landed) Was(name string) ([]byte, error) { return fs.ReadFile(l.was, name) }

func (l landed) Changed() (names []string, err error) {
	for name := range maps.Keys(l.MapFS) {
		if !l.unchanged(name) {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(l.was) {
		if l.MapFS[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (l landed) unchanged(name string) bool {
	return l.was[name] != nil && bytes.Equal(l.was[name].Data, l.MapFS[name].Data)
}

func TestShapeComparesWithTheLastLanding(t *testing.T) {
	was := shapeRecord + " of the last landing"
	for _, c := range []struct {
		text, want string
		code       int
	}{
		{"aliases 1 0\n", "shape: 0 violations\n", 0},
		{"", "shape: 0 violations\n", 0},
		{"aliases 0 0\n", "scripts/shape.txt:2: aliases was raised from 0 to 1: give the reason in a new sentence behind #\nshape: 1 violations\n", 1},
		{"aliases\n", was + ":1: a line is \"name value goal # sentence\", and this one has 1 fields before the #\nshape: 1 violations\n", 1},
	} {
		tree := landed{shapeTree(), fstest.MapFS{}}
		if c.text != "" {
			set(tree.was, shapeRecord, c.text)
		}
		var stdout, stderr strings.Builder
		if code := run(tree, []string{"shape"}, &stdout, &stderr); code != c.code || !strings.HasSuffix(stdout.String(), c.want) {
			t.Errorf("exit code %d, output:\n%s%swant:\n%s", code, &stdout, &stderr, c.want)
		}
	}
}

// Where the last landing cannot be found, nothing is compared with, and that is not a pass.
func TestShapeNeedsTheLastLanding(t *testing.T) {
	t.Setenv(change.Folder, t.TempDir())
	var stdout, stderr strings.Builder
	code := run(onDisk(t, shapeTree()), []string{"shape"}, &stdout, &stderr)
	if want := "compare scripts/shape.txt with the last landing: landed: read the folder"; code != 2 || !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("exit code %d, output:\n%s%swant %q", code, &stdout, &stderr, want)
	}
}

// onDisk writes a tree into a folder.
func onDisk(t *testing.T, tree fstest.MapFS) repository {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, tree); err != nil {
		t.Fatal(err)
	}
	return openRepository(folder)
}

func TestShapeLowersOneRecord(t *testing.T) {
	tree := shapeTree()
	const before = "# a comment\nforeign-values 5 0 # for now\n\naliases   7   1# doors\nwidest-state 1 0\nwide-states 0 0\ndialect-in-comments 0 0\nfunction-word-names 0 0"
	set(tree, shapeRecord, before)
	repository := onDisk(t, tree)
	update := func(name string) (code int, output, record string) {
		t.Helper()
		var stdout, stderr strings.Builder
		code = run(repository, []string{"shape", "-update", name}, &stdout, &stderr)
		text, err := os.ReadFile(filepath.Join(repository.root, shapeRecord))
		if err != nil {
			t.Fatal(err)
		}
		return code, stdout.String() + stderr.String(), string(text)
	}

	code, output, record := update("aliases")
	after := strings.Replace(before, "aliases   7   1# doors", "aliases                         1        1", 1)
	if code != 0 || output != "scripts/shape.txt: the record of aliases is 1\n" || record != after {
		t.Errorf("exit code %d, output:\n%srecord:\n%s", code, output, record)
	}

	for name, want := range map[string]string{
		"aliases": "lower the record of aliases: it is 1, its record 1\n",
		"lines":   "lines has no record\n",
	} {
		if code, output, record := update(name); code != 1 || output != want || record != after {
			t.Errorf("%s: exit code %d, output:\n%srecord:\n%s", name, code, output, record)
		}
	}
}

func TestShapeRaisesNoRecord(t *testing.T) {
	tree := shapeTree()
	set(tree, "host/command/rows.go", "package command\n\nimport \"agent/db\"\n\ntype Two = db.T\n")
	repository := onDisk(t, tree)
	var stdout, stderr strings.Builder
	code := run(repository, []string{"shape", "-update", "aliases"}, &stdout, &stderr)
	if code != 1 || stdout.String() != "lower the record of aliases: it is 2, its record 1\n" {
		t.Errorf("exit code %d, output:\n%s%s", code, &stdout, &stderr)
	}
	text, err := os.ReadFile(filepath.Join(repository.root, shapeRecord))
	if err != nil || string(text) != string(tree[shapeRecord].Data) {
		t.Errorf("%v, record:\n%s", err, text)
	}
}

func TestShapeThatCannotLook(t *testing.T) {
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		args   []string
		want   string
	}{
		"no go.mod":        {func(tree fstest.MapFS) { delete(tree, "go.mod") }, nil, "read go.mod: "},
		"no syntax":        {func(tree fstest.MapFS) { set(tree, "db/a.go", "package") }, nil, "parse db/a.go:1:8"},
		"no syntax, -v":    {func(tree fstest.MapFS) { set(tree, "db/a.go", "package") }, []string{"-v", "lines"}, "parse db/a.go:1:8"},
		"no record":        {func(tree fstest.MapFS) { delete(tree, shapeRecord) }, nil, "read scripts/shape.txt: "},
		"unknown measure":  {nil, []string{"-v", "alias"}, `shape: unknown measure "alias": there are foreign-values, aliases, `},
		"unknown record":   {nil, []string{"-update", "alias"}, `shape: unknown measure "alias"`},
		"unknown flag":     {nil, []string{"-x"}, "shape: flag provided but not defined: -x: give nothing, or one of -v MEASURE"},
		"flag without one": {nil, []string{"-update"}, "shape: flag needs an argument: -update"},
		"an empty value":   {nil, []string{"-v", ""}, "shape: a flag has an empty value"},
		"two flags":        {nil, []string{"-v", "lines", "-update", "aliases"}, "shape: only one of -v and -update can be given"},
		"unknown check":    {nil, []string{"words"}, `unknown check "words": there are imports, forms, proofs, times and shape`},
		"read-only":        {func(tree fstest.MapFS) { set(tree, "host/command/serve.go", "package command\n") }, []string{"-update", "aliases"}, "write scripts/shape.txt: this tree is read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := shapeTree()
			if c.change != nil {
				c.change(tree)
			}
			if code, output := shapeOf(tree, c.args...); code != 2 || !strings.HasPrefix(output, c.want) {
				t.Errorf("exit code %d, output:\n%swant %q", code, output, c.want)
			}
		})
	}
}

// Flags are those of shape alone; names of checks may be before them and behind.
func TestShapeAmongOtherChecks(t *testing.T) {
	for want, args := range map[string][]string{"shape: 0 violations\n": {"forms", "shape"}, "lines: 15: ": {"shape", "-v", "lines", "forms"}} {
		tree := shapeTree()
		set(tree, "db/a.go", "package db\n\ntype T int\n\nfunc init() {}\n")
		var stdout, stderr strings.Builder
		code := run(tree, args, &stdout, &stderr)
		if output := stdout.String(); code != 1 || !strings.Contains(output, "forms: 7 files, 1 violations\n") || !strings.Contains(output, want) {
			t.Errorf("%v: exit code %d, output:\n%s%s", args, code, output, &stderr)
		}
	}
}
