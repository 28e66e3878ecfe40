package main

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What gathers in one type or one package has a budget of its own: small functions in small files
// do not keep a type from knowing everything.
const (
	maxMethods = 40 // of a type
	maxFields  = 25 // of a struct
	maxFiles   = 25 // of a package, without tests and generated files
	maxLines   = 4000
	maxAlike   = 3 // files of a package with one prefix before "_": more of them are a package of their own
)

// total is what one package or type has of what a budget counts.
type total struct {
	of     string // "package db", "type Store"
	what   string // methods, fields, files, lines or files of one prefix
	n, max int
	at     finding // where an argument for more stands, or should
	doc    string
}

// checkTotals says which packages and types are too large. One that has to be names its limit and a
// reason in its doc comment:
//
//	Over budget: at most 60 methods: the reason
func checkTotals(sources []*source) []finding {
	packages := map[string][]*source{}
	for _, s := range sources {
		if s.syntax != nil && !s.test && !s.generated {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	var found []finding
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		for _, t := range append(packageTotals(packages[dir]), typeTotals(packages[dir])...) {
			if t.n > t.max {
				found = append(found, t.finding())
			}
		}
	}
	return found
}

// finding words what is over its budget: a note where the doc comment argues for as much.
func (t total) finding() finding {
	f := t.at
	f.text = fmt.Sprintf("%s has %d %s, the budget is %d", t.of, t.n, t.what, t.max)
	argued := regexp.MustCompile(overBudget + ` at most (\d+) ` + t.what + `: *(\S.*)`).FindStringSubmatch(joined(t.doc))
	if argued == nil {
		return f
	}
	if most, err := strconv.Atoi(argued[1]); err != nil || t.n > most {
		f.text += ", its exception allows " + argued[1]
		return f
	}
	f.note, f.text = true, f.text+": "+argued[2]
	return f
}

func packageTotals(files []*source) []total {
	lines, doc, at := 0, "", files[0]
	for _, s := range files {
		lines += s.lineCount()
		if s.syntax.Doc != nil {
			doc, at = doc+s.syntax.Doc.Text(), s
		}
	}
	place, of := at.at(at.syntax.Package, ""), "package "+files[0].dir
	return []total{
		{of: of, what: "files", n: len(files), max: maxFiles, at: place, doc: doc},
		{of: of, what: "lines", n: lines, max: maxLines, at: place, doc: doc},
		{of: of, what: "files of one prefix", n: alike(files), max: maxAlike, at: place, doc: doc},
	}
}

// alike is how many files have the prefix that most have. One that is there for each system is one.
func alike(files []*source) (most int) {
	system := regexp.MustCompile(`(_(linux|darwin|windows|unix|other|amd64|arm64))+$`)
	of, seen := map[string]int{}, map[string]bool{}
	for _, s := range files {
		name := system.ReplaceAllString(strings.TrimSuffix(path.Base(s.path), ".go"), "")
		prefix, _, found := strings.Cut(name, "_")
		if !found || seen[name] {
			continue
		}
		seen[name] = true
		of[prefix]++
		most = max(most, of[prefix])
	}
	return most
}

// typeTotals counts methods by their names: one that is there for each system is one.
func typeTotals(files []*source) []total {
	methods, where := map[string]map[string]bool{}, map[string]total{}
	var out []total
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if name := receiver(d); name != "" {
					if methods[name] == nil {
						methods[name] = map[string]bool{}
					}
					methods[name][d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						doc := t.Doc.Text()
						if len(d.Specs) == 1 {
							doc += d.Doc.Text() // of a group it is about all of them
						}
						where[t.Name.Name] = total{of: "type " + t.Name.Name, at: s.at(t.Pos(), ""), doc: doc}
						out = append(out, fieldsOf(t, where[t.Name.Name])...)
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		t := where[name]
		t.what, t.n, t.max = "methods", len(methods[name]), maxMethods
		out = append(out, t)
	}
	return out
}

func fieldsOf(t *ast.TypeSpec, of total) []total {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	of.what, of.max = "fields", maxFields
	for _, f := range s.Fields.List {
		of.n += max(1, len(f.Names))
	}
	return []total{of}
}

// receiver is the name of the type that a method belongs to; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return ""
	}
	expr := d.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	switch generic := expr.(type) {
	case *ast.IndexExpr:
		expr = generic.X
	case *ast.IndexListExpr:
		expr = generic.X
	}
	name, _ := expr.(*ast.Ident)
	if name == nil {
		return ""
	}
	return strings.TrimSpace(name.Name)
}
