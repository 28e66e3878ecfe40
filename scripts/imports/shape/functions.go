package shape

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

const (
	maxStatements = 40 // of a function
	maxComplexity = 15 // of a function
	maxRun        = 12 // statements in a row
)

// functionKinds are the measures of single functions.
func functionKinds() []kind {
	return []kind{
		{"solid-runs", false, fmt.Sprintf("runs of more than %d statements without a blank line or a comment", maxRun), solidRuns},
		{"long-functions", false, fmt.Sprintf("functions of more than %d statements", maxStatements), longFunctions},
		{"branched-functions", false, fmt.Sprintf("functions of a complexity above %d", maxComplexity), branchedFunctions},
		{"distant-helpers", false, "private functions whose only use is in another file", distantHelpers},
	}
}

// isStatement reports whether a node is a statement that counts: each ast.Stmt but blocks, clauses
// and labels, which only hold others, and empty statements.
func isStatement(n ast.Node) bool {
	switch n.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.LabeledStmt, *ast.EmptyStmt:
		return false
	}
	_, ok := n.(ast.Stmt)
	return ok
}

// statements counts the statements of a body, with those of the literals in it.
func statements(body ast.Node) (n int) {
	ast.Inspect(body, func(node ast.Node) bool {
		if isStatement(node) {
			n++
		}
		return true
	})
	return n
}

// complexity is 1, and 1 more for each if, for, range, case, communication clause, && and ||. The
// default of a switch or a select adds nothing.
func complexity(body ast.Node) int {
	n := 1
	ast.Inspect(body, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			n += min(len(x.List), 1)
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// longFunctions counts the functions of more than 40 statements. A statement is an ast.Stmt that is
// no block, no clause, no label and not empty; those of the literals in a function count with it.
func longFunctions(m *Module) (float64, []string) {
	return m.functionsAbove(maxStatements, statements)
}

// branchedFunctions counts the functions in which 1 + if, for, range, case, communication clause,
// && and || is more than 15, with the literals in them.
func branchedFunctions(m *Module) (float64, []string) {
	return m.functionsAbove(maxComplexity, complexity)
}

// functionsAbove lists the functions of which a count is above a limit.
func (m *Module) functionsAbove(limit int, count func(ast.Node) int) (float64, []string) {
	var found []string
	for _, fn := range m.functions() {
		if n := count(fn.body); n > limit {
			found = append(found, fmt.Sprintf("%3d %s %s", n, m.place(fn.file, fn.node), fn.name))
		}
	}
	return ranked(found)
}

// solidRuns counts the runs of more than 12 statements. A run is a stretch of statements in one
// function, in the order of the lines where they start and nested ones too, between which there is
// no blank line and no line of comment. A blank line inside a literal of a string or of a composite
// value does not count; one inside a function literal does, since statements are around it.
func solidRuns(m *Module) (float64, []string) {
	var found []string
	pauses := map[*file][]bool{}
	for _, fn := range m.functions() {
		if pauses[fn.file] == nil {
			pauses[fn.file] = m.pauses(fn.file)
		}
		for _, r := range m.runs(fn.body, pauses[fn.file]) {
			if r.statements > maxRun {
				found = append(found, fmt.Sprintf("%3d %s:%d %s", r.statements, fn.file.name, r.line, fn.name))
			}
		}
	}
	return ranked(found)
}

// A run is a stretch of statements without a pause.
type run struct {
	line       int // where its first statement starts
	statements int
}

// runs cuts a body into its runs.
func (m *Module) runs(body ast.Node, pauses []bool) (all []run) {
	var starts []int
	ast.Inspect(body, func(node ast.Node) bool {
		if isStatement(node) {
			starts = append(starts, m.line(node.Pos()))
		}
		return true
	})
	slices.Sort(starts)

	last := 0
	for _, start := range starts {
		if last == 0 || last+1 < start && slices.Contains(pauses[last+1:start], true) {
			all = append(all, run{line: start})
		}
		all[len(all)-1].statements++
		last = start
	}
	return all
}

// pauses marks, by their numbers, the lines of a file that end a run.
func (m *Module) pauses(f *file) []bool {
	pauses := make([]bool, len(f.lines)+2)
	for i, text := range f.lines {
		pauses[i+1] = strings.TrimSpace(text) == ""
	}
	inside := m.linesInLiterals(f)
	for line := range inside {
		pauses[line] = pauses[line] && !inside[line]
	}

	for _, group := range f.Comments {
		for _, c := range group.List {
			at := m.position(c.Pos())
			if strings.TrimSpace(f.lines[at.Line-1][:at.Column-1]) == "" {
				pauses[at.Line] = true
			}
		}
	}
	return pauses
}

// linesInLiterals marks the lines inside literals, but for those of function literals.
func (m *Module) linesInLiterals(f *file) []bool {
	inside := make([]bool, len(f.lines)+2)
	ast.Inspect(f.File, func(n ast.Node) bool {
		literal := false
		switch n.(type) {
		case *ast.BasicLit, *ast.CompositeLit:
			literal = true
		case *ast.FuncLit: // also one that is an element of a composite value
		default:
			return true
		}
		for line := m.line(n.Pos()) + 1; line < m.line(n.End()); line++ {
			inside[line] = literal
		}
		return true
	})
	return inside
}

// distantHelpers counts the private functions and methods that have one use in the module, in
// another file than their own. Tests are no use.
func distantHelpers(m *Module) (float64, []string) {
	home := map[types.Object]*file{}
	for _, fn := range m.declared() {
		if o := fn.file.pkg.info.Defs[fn.decl.Name]; o != nil && !fn.decl.Name.IsExported() {
			home[o] = fn.file
		}
	}

	users := map[types.Object][]*file{}
	for _, p := range m.packages {
		fileAt := m.handwritten(p)
		for id, o := range p.info.Uses {
			if f := fileAt(id.Pos()); f != nil && home[origin(o)] != nil {
				users[origin(o)] = append(users[origin(o)], f)
			}
		}
	}
	var found []string
	for o, files := range users {
		if len(files) == 1 && files[0] != home[o] {
			found = append(found, fmt.Sprintf("%s %s, used in %s", home[o].name, o.Name(), path.Base(files[0].name)))
		}
	}
	return ranked(found)
}

// origin is the declaration of what a generic function, method or field was made from.
func origin(o types.Object) types.Object {
	switch x := o.(type) {
	case *types.Func:
		return x.Origin()
	case *types.Var:
		return x.Origin()
	}
	return o
}
