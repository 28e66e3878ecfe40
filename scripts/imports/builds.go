package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checkBuilds finds tests that build a program, or have go run one: each would build it once more,
// and go's cache of test results would not know of which sources. Modules within this one are
// looked at too.
func checkBuilds(s *source) []finding {
	if s.syntax == nil || !s.test || slices.Contains([]string{"scripts/testkit/testbin", "scripts/testbin"}, s.dir) {
		return nil
	}
	var found []finding
	for _, decl := range s.syntax.Decls {
		if pos, what := buildIn(decl); what != "" {
			found = append(found, s.at(pos, "starts %s: take testbin.Agent, testbin.Fake or testbin.Install, which build once for each state of the sources", what))
		}
	}
	return found
}

// buildIn finds in a declaration where go is started to build or to run: by its arguments, by a
// list of arguments where the call takes one, or by a line for a shell.
func buildIn(decl ast.Decl) (at token.Pos, what string) {
	var calls []token.Pos // of go with arguments that are not known here
	list := ""            // what the first list of such arguments begins with
	ast.Inspect(decl, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			args := texts(x.Args)
			if !startsProcess(x) {
				break
			}
			if i := slices.Index(args, "go"); i >= 0 && i+1 < len(args) {
				if builds(args[i+1]) {
					at, what = x.Pos(), "go "+args[i+1]
				} else if args[i+1] == "" {
					calls = append(calls, x.Pos())
				}
			}
			for _, text := range args {
				if m := regexp.MustCompile(`\bgo (build|run|install)\b`).FindString(text); m != "" {
					at, what = x.Pos(), m
				}
			}
		case *ast.CompositeLit:
			elements := texts(x.Elts)
			if len(elements) > 1 && elements[0] == "go" && builds(elements[1]) {
				at, what = x.Pos(), "go "+elements[1]
			}
			if len(elements) > 0 && builds(elements[0]) && list == "" {
				list = "go " + elements[0]
			}
		}
		return true
	})
	if what == "" && len(calls) > 0 {
		return calls[0], list
	}
	return at, what
}

// builds reports whether a command of go builds a program.
func builds(command string) bool {
	return slices.Contains([]string{"build", "run", "install"}, command)
}

// startsProcess reports whether a function that is called is one of package os/exec that takes a
// command line.
func startsProcess(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(sel.Sel.Name, "Command")
}

// texts are the values of literals; "" for whatever is none.
func texts(exprs []ast.Expr) []string {
	out := make([]string, len(exprs))
	for i, e := range exprs {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				out[i] = text
			}
		}
	}
	return out
}
