package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkState finds variables of packages that change after the start: whoever reads one depends on
// whoever wrote it last, in the next test, too. One that has to be has its reason in its doc
// comment, behind "Exception:".
//
// What is looked for is an assignment in the same package, an address that is taken, and a variable
// without a value, which is there to get one. What a method changes is for a person to see.
func checkState(sources []*source) []finding {
	packages := map[string][]*source{}
	for _, s := range sources {
		if s.syntax != nil && !s.test && !s.generated {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	var found []finding
	for _, s := range sources {
		files := packages[s.dir]
		if len(files) > 0 && files[0] == s {
			found = append(found, stateOf(files)...)
		}
	}
	return found
}

// stateOf looks at the files of one package.
func stateOf(files []*source) []finding {
	changed := map[string]bool{}
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				for name := range changes(fn) {
					changed[name] = true
				}
			}
		}
	}
	var found []finding
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				doc := group.Doc.Text() + "\n" + v.Doc.Text()
				for _, name := range v.Names {
					if name.Name != "_" && (changed[name.Name] || len(v.Values) == 0 && !embedded(group, v)) {
						f := s.at(name.Pos(), "var %s is package state that changes: hold it in a value that is handed on", name.Name)
						found = append(found, argued(f, doc))
					}
				}
			}
		}
	}
	return found
}

// embedded reports whether the compiler gives the variable the content of files.
func embedded(group *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{group.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// changes are the names that a function assigns to, counts up, empties or takes the address of, and
// does not declare itself.
func changes(fn *ast.FuncDecl) map[string]bool {
	changed, own := map[string]bool{}, map[string]bool{}
	change := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if name := root(e); name != "" {
				changed[name] = true
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				change(x.Lhs...)
				return true
			}
			for _, e := range x.Lhs {
				own[root(e)] = true
			}
		case *ast.RangeStmt:
			if x.Tok == token.DEFINE {
				own[root(x.Key)], own[root(x.Value)] = true, true
			} else {
				change(x.Key, x.Value)
			}
		case *ast.IncDecStmt:
			change(x.X)
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				change(x.X)
			}
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(x.Args) > 0 {
				change(x.Args[0])
			}
		case *ast.Field:
			for _, name := range x.Names {
				own[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range x.Names {
				own[name.Name] = true
			}
		}
		return true
	})
	for name := range own {
		delete(changed, name)
	}
	return changed
}

// root is the name of what an expression is an element, a field or the target of.
func root(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}
