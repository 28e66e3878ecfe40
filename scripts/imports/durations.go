package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"time"
)

// clockFlow is where times go in the tests: which variables and results hold a time that was
// measured, and which variables end as a deadline.
type clockFlow struct {
	p        *program
	tests    map[string]bool // the files of tests
	measured map[types.Object]bool
	bounds   map[types.Object]bool
	bubbles  []span // of testing/synctest, where times are made
}

// span is a part of a file.
type span struct{ from, to token.Pos }

// follow follows times through assignments, parameters and results until nothing new is known.
func follow(p *program, sources []*source) *clockFlow {
	f := &clockFlow{p: p, tests: map[string]bool{}, measured: map[types.Object]bool{}, bounds: map[types.Object]bool{}}
	var tests []*source
	for _, s := range sources {
		if forTests(s) {
			f.tests[s.path], tests = true, append(tests, s)
		}
	}

	f.bubbles = f.bubblesOf(tests)
	for known := -1; known != len(f.measured)+len(f.bounds); { // each turn learns something, or is the last
		known = len(f.measured) + len(f.bounds)
		for _, s := range tests {
			f.file(s)
		}
	}
	return f
}

// bubblesOf finds the calls of synctest.Test, and the functions that are handed to one that calls
// them in there.
func (f *clockFlow) bubblesOf(tests []*source) (bubbles []span) {
	called := map[types.Object]bool{}
	each := func(visit func(*ast.CallExpr)) {
		for _, s := range tests {
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					visit(call)
				}
				return true
			})
		}
	}
	each(func(call *ast.CallExpr) {
		if pkg, name := f.callee(call); pkg != "testing/synctest" || name != "Test" {
			return
		}
		bubbles = append(bubbles, span{call.Pos(), call.End()})
		ast.Inspect(call, func(n ast.Node) bool {
			if inner, ok := n.(*ast.CallExpr); ok {
				if v, ok := f.objectOf(inner.Fun).(*types.Var); ok {
					called[v] = true
				}
			}
			return true
		})
	})
	each(func(call *ast.CallExpr) {
		fn, ok := f.typeOf(call.Fun).(*types.Signature)
		for i, arg := range call.Args {
			if lit, isLit := arg.(*ast.FuncLit); ok && isLit && i < fn.Params().Len() && called[fn.Params().At(i)] {
				bubbles = append(bubbles, span{lit.Pos(), lit.End()})
			}
		}
	})
	return bubbles
}

func (f *clockFlow) inBubble(n ast.Node) bool {
	return slices.ContainsFunc(f.bubbles, func(b span) bool { return b.from <= n.Pos() && n.Pos() < b.to })
}

func (f *clockFlow) file(s *source) {
	for _, decl := range s.syntax.Decls {
		fn, _ := decl.(*ast.FuncDecl)
		ast.Inspect(decl, func(n ast.Node) bool {
			if n == nil || f.inBubble(n) {
				return n != nil
			}
			switch x := n.(type) {
			case *ast.ReturnStmt:
				if fn != nil && len(x.Results) == 1 && f.isMeasured(x.Results[0]) && isNumber(f.p.info.TypeOf(x.Results[0])) {
					f.measured[f.p.info.Defs[fn.Name]] = true
				}
			case *ast.CallExpr:
				for _, bound := range f.boundsOf(x) {
					f.ends(bound, true)
				}
			case *ast.BinaryExpr:
				if ordered(x.Op) && (f.isMeasured(x.X) || f.isMeasured(x.Y)) {
					f.ends(x.X, false)
					f.ends(x.Y, false)
				}
			}
			for to, from := range f.flows(n) {
				_, isFunc := to.Type().Underlying().(*types.Signature)
				if (isNumber(to.Type()) || isFunc) && f.isMeasured(from) {
					f.measured[to] = true
				}
				if f.bounds[to] {
					f.ends(from, true)
				}
			}
			return true
		})
	}
}

// ends notes that the variables of a bound end as one: those of tests, since one of the product has
// a meaning of its own, and is set to what the test is about. Moments do where a call waits for
// one: a comparison may be one of a clock that the test made.
func (f *clockFlow) ends(bound ast.Expr, moments bool) {
	ast.Inspect(bound, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := f.p.info.Uses[id].(*types.Var); ok && (isDuration(v.Type()) || moments && isTime(v.Type())) {
				f.bounds[v] = f.bounds[v] || f.tests[f.p.fset.Position(v.Pos()).Filename]
			}
		}
		return true
	})
}

// flows are the variables that a node sets, with what it sets them to.
func (f *clockFlow) flows(n ast.Node) func(func(types.Object, ast.Expr) bool) {
	return func(yield func(types.Object, ast.Expr) bool) {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, to := range x.Lhs {
				if o := f.objectOf(to); o != nil && len(x.Rhs) == len(x.Lhs) && !yield(o, x.Rhs[i]) {
					return
				}
			}
		case *ast.ValueSpec:
			for i, to := range x.Names {
				if o := f.objectOf(to); o != nil && i < len(x.Values) && !yield(o, x.Values[i]) {
					return
				}
			}
		case *ast.KeyValueExpr:
			if o := f.objectOf(x.Key); o != nil {
				yield(o, x.Value)
			}
		case *ast.CompositeLit:
			fields, ok := f.typeOf(x).(*types.Struct)
			for i, value := range x.Elts {
				if _, named := value.(*ast.KeyValueExpr); !ok || named || i >= fields.NumFields() || !yield(fields.Field(i), value) {
					return
				}
			}
		case *ast.CallExpr:
			fn, ok := f.typeOf(x.Fun).(*types.Signature)
			for i, value := range x.Args {
				if !ok || i >= fn.Params().Len() || !yield(fn.Params().At(i), value) {
					return
				}
			}
		}
	}
}

func (f *clockFlow) objectOf(e ast.Expr) types.Object {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		if o := f.p.info.Defs[x]; o != nil {
			return o
		}
		return f.p.info.Uses[x]
	case *ast.SelectorExpr:
		return f.p.info.Uses[x.Sel]
	}
	return nil
}

func (f *clockFlow) typeOf(e ast.Expr) types.Type {
	if t := f.p.info.TypeOf(e); t != nil {
		return t.Underlying()
	}
	return nil
}

// isMeasured reports whether an expression holds how long something took.
func (f *clockFlow) isMeasured(e ast.Expr) bool {
	return contains(e, func(x ast.Expr) bool { return f.asks(x) || f.measured[f.objectOf(x)] })
}

// measures reports whether an expression itself asks how long something took.
func (f *clockFlow) measures(e ast.Expr) bool { return contains(e, f.asks) }

// asks reports whether a call asks how long something took.
func (f *clockFlow) asks(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	pkg, name := f.callee(call)
	return pkg == "time" && (name == "Since" || name == "Until") || f.subtracts(call)
}

// contains reports whether a part of an expression has a property. Of a function in it what it
// returns counts, and not what it does.
func contains(e ast.Expr, has func(ast.Expr) bool) bool {
	found, returns := false, false
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncLit:
			ast.Inspect(x.Body, func(n ast.Node) bool {
				if r, ok := n.(*ast.ReturnStmt); ok {
					for _, result := range r.Results {
						returns = returns || contains(result, has)
					}
				}
				return !returns
			})
			return false
		case ast.Expr:
			found = found || has(x)
		}
		return !found
	})
	return found || returns
}

// subtracts reports whether a call takes one time from another; where the type is not known, by the
// name alone.
func (f *clockFlow) subtracts(call *ast.CallExpr) bool {
	x, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || x.Sel.Name != "Sub" || len(call.Args) != 1 {
		return false
	}
	t := f.p.info.TypeOf(call)
	return t == nil || t == types.Typ[types.Invalid] || isDuration(t)
}

// callee gives the package and the name of a function that is called; of a method the name alone.
func (f *clockFlow) callee(call *ast.CallExpr) (pkg, name string) {
	switch x := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if o := f.p.info.Uses[x]; o != nil && o.Pkg() != nil {
			return o.Pkg().Path(), x.Name
		}
		return "", x.Name
	case *ast.SelectorExpr:
		return f.packageOf(x), x.Sel.Name
	}
	return "", ""
}

// packageOf is the package that a selector names a part of, whatever it is called in the file.
func (f *clockFlow) packageOf(x *ast.SelectorExpr) string {
	if id, ok := x.X.(*ast.Ident); ok {
		if name, ok := f.p.info.Uses[id].(*types.PkgName); ok {
			return name.Imported().Path()
		}
	}
	return ""
}

// boundsOf are the arguments of a call after which something ends or begins.
func (f *clockFlow) boundsOf(call *ast.CallExpr) []ast.Expr {
	pkg, name := f.callee(call)
	timers := []string{"After", "NewTimer", "AfterFunc"}
	switch {
	case pkg == "time" && slices.Contains(timers, name) && len(call.Args) > 0:
		return call.Args[:1]
	case name == "Reset" && f.isTimer(call):
		return call.Args
	case regexp.MustCompile(`(Timeout|Deadline)(Cause)?$`).MatchString(name):
		return call.Args
	}

	// What a function of a test takes as a bound.
	fn, ok := f.typeOf(call.Fun).(*types.Signature)
	var args []ast.Expr
	for i, arg := range call.Args {
		if ok && i < fn.Params().Len() && f.bounds[fn.Params().At(i)] {
			args = append(args, arg)
		}
	}
	return args
}

func (f *clockFlow) isTimer(call *ast.CallExpr) bool {
	x, ok := call.Fun.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(types.TypeString(f.p.info.TypeOf(x.X), nil), "time.Timer")
}

// short gives the first constant duration in a bound that passes too soon, and where it is. None
// that is zero or less: it has passed already.
func (f *clockFlow) short(bound ast.Expr, limit time.Duration) (pos token.Pos, d time.Duration, ok bool) {
	ast.Inspect(bound, func(n ast.Node) bool {
		e, isExpr := n.(ast.Expr)
		if ok || !isExpr {
			return !ok
		}
		if value, known := f.constant(e); known {
			pos, d, ok = e.Pos(), value, value > 0 && value < limit
			return false
		}
		_, nested := n.(*ast.FuncLit)
		return !nested
	})
	return pos, d, ok
}

// constant is the value of a constant duration. A number is one where it is used as a duration.
func (f *clockFlow) constant(e ast.Expr) (time.Duration, bool) {
	tv := f.p.info.Types[e]
	if tv.Value == nil || !isDuration(tv.Type) {
		return 0, false
	}
	n, ok := constant.Int64Val(constant.ToInt(tv.Value))
	return time.Duration(n), ok
}

func isDuration(t types.Type) bool {
	return t != nil && types.TypeString(t, nil) == "time.Duration"
}

func isTime(t types.Type) bool {
	return t != nil && types.TypeString(t, nil) == "time.Time"
}

func isNumber(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

func ordered(op token.Token) bool {
	return op == token.LSS || op == token.GTR || op == token.LEQ || op == token.GEQ
}

// comparison is what is wrong with a comparison of times, or "".
func (f *clockFlow) comparison(x *ast.BinaryExpr, limit time.Duration) string {
	left, isLeft := f.constant(x.X)
	right, isRight := f.constant(x.Y)
	constant, isConstant := max(left, right), isLeft != isRight
	switch {
	case !ordered(x.Op) || isLeft && isRight || isConstant && constant <= 0:
		return ""
	case f.measures(x.X) || f.measures(x.Y):
		return "compares a measured time"
	case isConstant && constant < limit:
		return fmt.Sprintf("compares a time with %s", constant)
	case !isConstant && (f.isMeasured(x.X) || f.isMeasured(x.Y)):
		return "compares a measured time"
	}
	return ""
}
