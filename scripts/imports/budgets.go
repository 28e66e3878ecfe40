package main

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// The budgets bind the maximum and not the average: what coordinates everything gathers silently in
// the one long function and the one long file.
const (
	maxFunctionLines = 60
	maxFileLines     = 400
)

// overBudget opens the comment that argues for something longer: in a function's doc comment, or
// for a file above its package clause. A reason must follow.
const overBudget = "Over budget:"

// checkBudgets says what in one file is too long or refused. Generated code is not ours to shorten.
func checkBudgets(s *source) []finding {
	if s.generated {
		return nil
	}
	found := wideComments(s)
	if s.syntax == nil {
		return append(found, sqlWords(s)...)
	}
	if !s.test {
		found = append(found, sizes(s)...)
	}
	found = append(found, inits(s)...)
	found = append(found, names(s)...)
	found = append(found, sleeps(s)...)
	found = append(found, sharedState(s)...)
	return append(found, words(s)...)
}

func sizes(s *source) []finding {
	var found []finding
	if n := s.lineCount(); n > maxFileLines {
		f := s.at(s.syntax.Package, "file of %d lines, the budget is %d", n, maxFileLines)
		found = append(found, argued(f, headComments(s)))
	}
	for _, decl := range s.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			if n := s.lines(fn); n > maxFunctionLines {
				f := s.at(fn.Pos(), "func %s of %d lines, the budget is %d", fn.Name.Name, n, maxFunctionLines)
				found = append(found, argued(f, fn.Doc.Text()))
			}
			continue
		}
		// A function kept in a variable has no declaration of its own.
		ast.Inspect(decl, func(n ast.Node) bool {
			lit, ok := n.(*ast.FuncLit)
			if ok && s.lines(lit) > maxFunctionLines {
				found = append(found, s.at(lit.Pos(), "function literal of %d lines, the budget is %d", s.lines(lit), maxFunctionLines))
			}
			return !ok
		})
	}
	return found
}

// argued turns a violation into a note where the comment gives a reason.
func argued(f finding, comment string) finding {
	for line := range strings.Lines(joined(comment)) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), overBudget); ok && strings.TrimSpace(reason) != "" {
			f.note = true
			f.text += ":" + strings.TrimRight(reason, "\n")
		}
	}
	return f
}

// joined puts an argument that goes on in further lines into one.
func joined(comment string) string {
	out, open := "", false
	for line := range strings.Lines(comment) {
		switch begins := strings.HasPrefix(line, overBudget); {
		case begins:
			open = true
		case strings.TrimSpace(line) == "":
			open = false
		case open:
			out = strings.TrimSuffix(out, "\n") + " "
		}
		out += line
	}
	return out
}

func headComments(s *source) string {
	var text strings.Builder
	for _, group := range s.syntax.Comments {
		if group.End() < s.syntax.Package {
			text.WriteString(group.Text())
		}
	}
	return text.String()
}

func inits(s *source) []finding {
	var found []finding
	for _, decl := range s.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			f := s.at(fn.Pos(), "func init: it runs in every start and in every test, wanted or not; call it where it is needed")
			found = append(found, argued(f, fn.Doc.Text()))
		}
	}
	return found
}

func names(s *source) []finding {
	for _, name := range []string{strings.TrimSuffix(s.syntax.Name.Name, "_test"), path.Base(s.dir)} {
		switch name {
		case "util", "utils", "common":
			return []finding{s.at(s.syntax.Name.Pos(), "package %s: name it after what it does, or put it where it is used", name)}
		}
	}
	return nil
}

func sleeps(s *source) []finding {
	if !s.test {
		return nil
	}
	var found []finding
	for _, pos := range selectorUses(s, "time", func(name string) bool { return name == "Sleep" }) {
		found = append(found, s.at(pos, "a test sleeps: wait for the event, with a deadline"))
	}
	return found
}

// The words are put together here so that this file does not refuse itself.
func unfinished() *regexp.Regexp {
	return regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b|(?i:\bnot ` + `implemented\b)`)
}

func stub() *regexp.Regexp { return regexp.MustCompile(`(?i:\bnot ` + `implemented\b)`) }

// words finds marks of unfinished work: in every comment, and, outside tests, stubs in string
// literals. A tool that searches files is tested with such words, so the literals of tests are
// free.
func words(s *source) []finding {
	var found []finding
	mark := unfinished()
	for _, group := range s.syntax.Comments {
		for _, c := range group.List {
			if m := mark.FindStringIndex(c.Text); m != nil {
				found = append(found, s.at(c.Pos()+token.Pos(m[0]), "%q: finish it, or open an issue", c.Text[m[0]:m[1]]))
			}
		}
	}
	if s.test {
		return found
	}
	said := stub()
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if m := said.FindString(lit.Value); m != "" {
				found = append(found, s.at(lit.Pos(), "%q: a feature appears when it works", m))
			}
		}
		return true
	})
	return found
}

func sqlWords(s *source) []finding {
	var found []finding
	mark, n := unfinished(), 0
	for line := range strings.Lines(string(s.text)) {
		n++
		if m := mark.FindString(line); m != "" {
			found = append(found, finding{path: s.path, line: n, text: `"` + m + `": finish it, or open an issue`})
		}
	}
	return found
}
