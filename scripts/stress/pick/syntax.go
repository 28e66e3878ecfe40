package pick

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// declaration is one function, type, variable or constant of a test file.
type declaration struct {
	unit   string // the package clause, as a folder may have x and x_test
	name   string
	owner  string // the type of which it is a method
	tokens string // its syntax, whatever its layout

	names  map[string]bool // those that it uses without a dot in front
	fields map[string]bool // those that it uses behind a dot
	texts  []string        // its string literals
}

// isTest reports whether go test runs it by name.
func (d *declaration) isTest() bool {
	if d.owner != "" || d.name == "TestMain" || !strings.HasPrefix(d.tokens, "func ") {
		return false
	}
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(d.name, prefix); ok {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}

// runsAlways reports whether it is reached by every test without being named.
func (d *declaration) runsAlways() bool {
	return d.owner == "" && (d.name == "TestMain" || d.name == "init" || d.name == "_")
}

func declares(name string) func(*declaration) bool {
	return func(d *declaration) bool { return d.owner == "" && d.name == name }
}

// parse reads the declarations of files; those that read does not find have none.
func parse(files []string, read func(name string) ([]byte, error)) ([]*declaration, error) {
	var all []*declaration
	for _, name := range files {
		text, err := read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}

		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			all = append(all, fromSyntax(fset, file.Name.Name, text, decl)...)
		}
	}
	return all, nil
}

func fromSyntax(fset *token.FileSet, unit string, text []byte, decl ast.Decl) []*declaration {
	source := func(n ast.Node) []byte {
		return text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset]
	}
	if f, ok := decl.(*ast.FuncDecl); ok {
		d := &declaration{unit: unit, name: f.Name.Name, tokens: tokens(source(f))}
		if f.Recv != nil && len(f.Recv.List) > 0 {
			d.owner = tokens(source(f.Recv.List[0].Type))
		}
		d.look(f)
		return []*declaration{d}
	}

	var all []*declaration
	group := decl.(*ast.GenDecl) // files that were parsed without an error have no other
	for i, spec := range group.Specs {
		var names []*ast.Ident
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = []*ast.Ident{spec.Name}
		case *ast.ValueSpec:
			names = spec.Names
		}
		// A constant may follow from its place in the group.
		own := group.Tok.String() + " " + tokens(source(spec))
		if group.Tok == token.CONST {
			own += " " + strconv.Itoa(i)
		}
		for _, name := range names {
			d := &declaration{unit: unit, name: name.Name, tokens: own}
			d.look(spec)
			all = append(all, d)
		}
	}
	return all
}

// look notes what a declaration uses.
func (d *declaration) look(n ast.Node) {
	d.names, d.fields = map[string]bool{}, map[string]bool{}

	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			d.fields[n.Sel.Name] = true
			ast.Inspect(n.X, visit)
			return false

		case *ast.Ident:
			d.names[n.Name] = true

		case *ast.BasicLit:
			if n.Kind == token.STRING {
				if text, err := strconv.Unquote(n.Value); err == nil { // the scanner has seen that it is one
					d.texts = append(d.texts, text)
				}
			}
		}
		return true
	}
	ast.Inspect(n, visit)
}

// tokens is the source as the compiler's scanner has it, without what only the layout needs:
// comments, spaces, and the commas and semicolons in front of a closing bracket.
func tokens(source []byte) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, 0)

	var out []string
	for {
		_, tok, literal := s.Scan()
		last := len(out) - 1
		closing := tok == token.RPAREN || tok == token.RBRACE || tok == token.RBRACK || tok == token.EOF
		if closing && last >= 0 && (out[last] == "," || out[last] == ";") {
			out = out[:last]
		}

		switch {
		case tok == token.EOF:
			return strings.Join(out, " ")
		case tok == token.SEMICOLON || literal == "":
			out = append(out, tok.String())
		default:
			out = append(out, literal)
		}
	}
}

// differing are the declarations that were not there before in the same form.
func differing(present, earlier []*declaration) []*declaration {
	known := map[[4]string]bool{}
	key := func(d *declaration) [4]string { return [4]string{d.unit, d.owner, d.name, d.tokens} }
	for _, d := range earlier {
		known[key(d)] = true
	}
	return slices.DeleteFunc(slices.Clone(present), func(d *declaration) bool { return known[key(d)] })
}

// reaching are the declarations from which one of those touched is reached, the touched ones among
// them.
func reaching(all, touched []*declaration) []*declaration {
	if slices.ContainsFunc(touched, (*declaration).runsAlways) {
		return all
	}

	found := map[*declaration]bool{}
	for _, d := range touched {
		found[d] = true
	}

	for open := touched; len(open) > 0; {
		next := open[0]
		open = open[1:]

		for _, d := range all {
			uses := d.names[next.name]
			if next.owner != "" {
				uses = d.fields[next.name]
			}

			if uses && !found[d] {
				if d.runsAlways() {
					return all
				}
				found[d] = true
				open = append(open, d)
			}
		}
	}

	return slices.DeleteFunc(slices.Clone(all), func(d *declaration) bool { return !found[d] })
}

// mentioning are the declarations that name a file below testdata, by the rule of this package.
func mentioning(all []*declaration, fixture string) []*declaration {
	having := func(element string) (found []*declaration) {
		for _, d := range all {
			for _, text := range d.texts {
				if slices.Contains(strings.Split(text, "/"), element) {
					found = append(found, d)
					break
				}
			}
		}
		return found
	}

	if found := having(path.Base(fixture)); len(found) > 0 {
		return found
	}
	for folder := path.Dir(fixture); folder != "."; folder = path.Dir(folder) {
		if found := having(path.Base(folder)); len(found) > 0 {
			return found
		}
	}
	return all
}
