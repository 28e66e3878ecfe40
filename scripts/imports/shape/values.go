package shape

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// valueKinds are the measures of what packages use of each other.
func valueKinds() []kind {
	return []kind{
		{"foreign-values", true, "uses of methods and fields of a layer that is refused there, by type", foreignValues},
		{"aliases", true, "second names for what another package declares, and pass-through functions", aliases},
		{"unused-exports", false, "exported names that no other package uses", unusedExports},
	}
}

// foreignValues counts the selections x.f and x.f() in which the field or method f is declared in a
// layer that is refused in the package of the selection, by whatever name and through whichever
// package the value was reached. layers.go has the table. A key of a composite literal is no
// selection: to write one, the package has to name the type, by an import, which the table of
// imports refuses, or by an alias, which counts as one.
func foreignValues(m *Module) (float64, []string) {
	var found []string
	for _, p := range m.packages {
		fileAt := m.handwritten(p)
		for expr, selection := range p.info.Selections {
			f, declared := fileAt(expr.Pos()), selection.Obj().Pkg()
			if f == nil || !m.owns(declared) {
				continue
			}
			if layer := m.folderOf(declared); refuses(f.name, layer) {
				found = append(found, fmt.Sprintf("%s %s.%s", m.place(f, expr), layer, selection.Obj().Name()))
			}
		}
	}
	return ranked(found)
}

// refuses reports whether a file may hold no value of a package in a folder.
func refuses(file, folder string) bool {
	return slices.ContainsFunc(refusals(), func(r refusal) bool {
		return within(file, r.in) && within(folder, r.layer) && file != r.but
	})
}

// aliases counts second names for what another package of the module declares: package-level
// declarations `type X = p.Y`, `var X = p.Y` and `const X = p.Y`, and functions and methods that
// only pass on. These have one statement, which is one call of a function or method of another
// package of the module with the parameters of the function, all of them, in their order and
// nothing else. There has to be at least one: what takes none and reads a value is no second name.
func aliases(m *Module) (float64, []string) {
	var found []string
	for _, f := range m.files {
		for _, d := range f.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if callee := m.passesOn(f, x); callee != nil {
					found = append(found, fmt.Sprintf("%s %s passes on to %s.%s", m.place(f, x), x.Name.Name, m.folderOf(callee.Pkg()), callee.Name()))
				}
			case *ast.GenDecl:
				for _, id := range m.renamed(f, x) {
					found = append(found, m.place(f, id)+" "+id.Name)
				}
			}
		}
	}
	return ranked(found)
}

// renamed are the names of a declaration that only repeat a name of another package of the module.
func (m *Module) renamed(f *file, d *ast.GenDecl) (names []*ast.Ident) {
	for _, s := range d.Specs {
		switch x := s.(type) {
		case *ast.TypeSpec:
			if x.Assign.IsValid() && m.namesAnother(f, x.Type) {
				names = append(names, x.Name)
			}
		case *ast.ValueSpec:
			for i, v := range x.Values {
				if i < len(x.Names) && m.namesAnother(f, v) {
					names = append(names, x.Names[i])
				}
			}
		}
	}
	return names
}

// namesAnother reports whether an expression is nothing but the name of what another package of the
// module declares.
func (m *Module) namesAnother(f *file, e ast.Expr) bool {
	o := f.pkg.info.Uses[lastName(e)]
	return o != nil && o.Pkg() != f.pkg.types && m.owns(o.Pkg()) && o.Parent() == o.Pkg().Scope()
}

// lastName is the name in x or p.x, with type arguments or without; nil for other expressions.
func lastName(e ast.Expr) *ast.Ident {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	case *ast.IndexExpr:
		return lastName(x.X)
	case *ast.IndexListExpr:
		return lastName(x.X)
	}
	return nil
}

// passesOn is the function of another package of the module that is all that a function calls, with
// its own parameters; nil where there is none.
func (m *Module) passesOn(f *file, fn *ast.FuncDecl) *types.Func {
	call := onlyCall(fn)
	if call == nil {
		return nil
	}
	callee, ok := f.pkg.info.Uses[lastName(call.Fun)].(*types.Func)
	if !ok || callee.Pkg() == f.pkg.types || !m.owns(callee.Pkg()) {
		return nil
	}

	var parameters []*ast.Ident
	for _, field := range fn.Type.Params.List {
		parameters = append(parameters, field.Names...)
	}
	if len(parameters) == 0 || len(parameters) != len(call.Args) {
		return nil
	}
	for i, argument := range call.Args {
		id, ok := ast.Unparen(argument).(*ast.Ident)
		if !ok || f.pkg.info.Uses[id] == nil || f.pkg.info.Uses[id] != f.pkg.info.Defs[parameters[i]] {
			return nil
		}
	}
	return callee
}

// onlyCall is the call that is all that a function consists of.
func onlyCall(fn *ast.FuncDecl) *ast.CallExpr {
	if fn.Body == nil || len(fn.Body.List) != 1 {
		return nil
	}
	var e ast.Expr
	switch s := fn.Body.List[0].(type) {
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			e = s.Results[0]
		}
	case *ast.ExprStmt:
		e = s.X
	}
	call, _ := ast.Unparen(e).(*ast.CallExpr)
	return call
}

// systemMethods are methods that interfaces of other modules, which are not read, may require.
const systemMethods = `error unwrap is as string close read write marshaljson unmarshaljson marshaltext unmarshaltext len less swap
	value scan format servehttp set get lock unlock`

// unusedExports counts the exported functions, methods and types, those of commands aside, that no
// other package of the module uses. A method with the name of one of an interface, in any case of
// letters, is used. Tests are no use.
func unusedExports(m *Module) (float64, []string) {
	used := map[types.Object]bool{}
	for _, p := range m.packages {
		fileAt := m.handwritten(p)
		for id, o := range p.info.Uses {
			if o.Pkg() != p.types && fileAt(id.Pos()) != nil {
				used[origin(o)] = true
			}
		}
	}

	required, found := m.requiredMethods(), []string(nil)
	for _, f := range m.files {
		for _, id := range exported(f, required) {
			if o := f.pkg.info.Defs[id]; o != nil && !used[o] && f.Name.Name != "main" {
				found = append(found, m.place(f, id)+" "+id.Name)
			}
		}
	}
	return ranked(found)
}

// requiredMethods are the names of the methods of all interfaces, in lower case.
func (m *Module) requiredMethods() map[string]bool {
	required := wordSet(systemMethods)
	for _, f := range m.files {
		ast.Inspect(f.File, func(n ast.Node) bool {
			if x, ok := n.(*ast.InterfaceType); ok {
				for _, method := range x.Methods.List {
					for _, id := range method.Names {
						required[strings.ToLower(id.Name)] = true
					}
				}
			}
			return true
		})
	}
	return required
}

// exported are the exported functions, types and methods of a file, without required methods.
func exported(f *file, required map[string]bool) (names []*ast.Ident) {
	for _, d := range f.Decls {
		switch x := d.(type) {
		case *ast.FuncDecl:
			if x.Name.IsExported() && (x.Recv == nil || !required[strings.ToLower(x.Name.Name)]) {
				names = append(names, x.Name)
			}
		case *ast.GenDecl:
			for _, s := range x.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
					names = append(names, t.Name)
				}
			}
		}
	}
	return names
}
