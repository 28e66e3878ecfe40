package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
)

// source is one file of the tree. For a file that is not Go, syntax is nil.
type source struct {
	path      string // slash-separated, relative to the main go.mod
	dir       string // its folder; "." for the root
	text      []byte
	test      bool
	generated bool
	fset      *token.FileSet
	syntax    *ast.File
}

// finding is a remark about one line. A note is shown and allowed.
type finding struct {
	path string
	line int
	text string
	note bool
}

func (f finding) String() string {
	kind := ""
	if f.note {
		kind = "note: "
	}
	return fmt.Sprintf("%s:%d: %s%s", f.path, f.line, kind, f.text)
}

// at makes a finding for a position in a Go file.
func (s *source) at(pos token.Pos, format string, args ...any) finding {
	return finding{path: s.path, line: s.fset.Position(pos).Line, text: fmt.Sprintf(format, args...)}
}

// load reads every Go, SQL and Markdown file and every script of the module, whatever its build
// constraints: a rule that holds on Linux only is none. Modules within it are bound by the same
// rules. Testdata and hidden folders but .github are not.
func load(tree fs.FS) ([]*source, error) {
	var sources []*source
	fset := token.NewFileSet() // one for all, as the type checker wants it
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && skipDir(path.Base(name)) {
				return fs.SkipDir
			}
			return nil
		}
		ext := path.Ext(name)
		if ext != "" && !slices.Contains([]string{".go", ".sql", ".md", ".sh", ".bash"}, ext) {
			return nil
		}
		src, err := read(fset, tree, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if ext != "" || bytes.HasPrefix(src.text, []byte("#!")) {
			sources = append(sources, src)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(sources, func(i, j int) bool { return sources[i].path < sources[j].path })
	return sources, nil
}

func skipDir(base string) bool {
	if strings.HasPrefix(base, ".") && base != ".github" || strings.HasPrefix(base, "_") {
		return true
	}
	return base == "testdata" || base == "vendor" || base == "node_modules"
}

func read(fset *token.FileSet, tree fs.FS, name string) (*source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	src := &source{path: name, dir: path.Dir(name), text: text, fset: fset}
	if path.Ext(name) != ".go" {
		return src, nil
	}
	src.test = strings.HasSuffix(name, "_test.go")
	src.syntax, err = parser.ParseFile(src.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	src.generated = ast.IsGenerated(src.syntax)
	return src, nil
}
