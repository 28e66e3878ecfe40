package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The names in JSON are spelled one way everywhere: see the documentation of package view.
func TestNamesInJSON(t *testing.T) {
	var files []string
	for _, dir := range []string{".", filepath.Join("..", "view")} {
		list, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(list) == 0 {
			t.Fatal(dir, err)
		}
		files = append(files, list...)
	}
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if !ok || f.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if why := misspelled(name, typeName(f.Type)); why != "" {
				t.Errorf("%s: %q %s", set.Position(f.Pos()), name, why)
			}
			seen++
			return true
		})
	}
	if seen < 100 {
		t.Errorf("only %d names were looked at", seen)
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func misspelled(name, of string) string {
	switch {
	case name == "" || name == "-":
		return ""
	case of == "time.Time" && !strings.HasSuffix(name, "_at"):
		return "is a time and does not end in _at"
	case strings.HasSuffix(name, "_at") && of != "time.Time":
		return "ends in _at and is no time"
	case of == "string" && (name == "run" || name == "thread" || name == "call" || name == "request"):
		return "is an id of another object and does not end in _id"
	case of == "time.Duration":
		return "is a span: give it in milliseconds, with a name in _ms"
	}
	return ""
}
