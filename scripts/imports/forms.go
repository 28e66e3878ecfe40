package main

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// exceptionMark opens the part of a doc comment that gives the reason for a form that is refused
// elsewhere. A reason must follow.
const exceptionMark = "Exception:"

// checkForms finds what is refused in one file. Generated code is not ours to change.
func checkForms(s *source) []finding {
	if s.generated {
		return nil
	}
	found := wideComments(s)
	if s.syntax == nil {
		return append(found, unfinishedSQL(s)...)
	}
	found = append(found, inits(s)...)
	found = append(found, vaguePackages(s)...)
	found = append(found, sleeps(s)...)
	found = append(found, sharedState(s)...)
	return append(found, unfinishedMarks(s)...)
}

// argued turns a violation into a note where the comment gives a reason.
func argued(f finding, comment string) finding {
	for line := range strings.Lines(joined(comment)) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), exceptionMark); ok && strings.TrimSpace(reason) != "" {
			f.note = true
			f.text += ":" + strings.TrimRight(reason, "\n")
		}
	}
	return f
}

// joined puts an argument of several lines into one.
func joined(comment string) string {
	out, open := "", false
	for line := range strings.Lines(comment) {
		switch begins := strings.HasPrefix(line, exceptionMark); {
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

// vaguePackages finds packages with a name that fits anything.
func vaguePackages(s *source) []finding {
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

// unfinished matches a mark. It is put together here so that this file does not refuse itself.
func unfinished() *regexp.Regexp {
	return regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b|(?i:\bnot ` + `implemented\b)`)
}

// stub matches what a feature answers that is not there.
func stub() *regexp.Regexp { return regexp.MustCompile(`(?i:\bnot ` + `implemented\b)`) }

// unfinishedMarks finds marks of unfinished work: in every comment, and, outside tests, stubs in
// string literals. A tool that searches files is tested with such marks, so the literals of tests
// are free.
func unfinishedMarks(s *source) []finding {
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
	mark = stub()
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if m := mark.FindString(lit.Value); m != "" {
				found = append(found, s.at(lit.Pos(), "%q: a feature appears when it works", m))
			}
		}
		return true
	})
	return found
}

// unfinishedSQL finds marks of unfinished work in a file whose comments are not parsed.
func unfinishedSQL(s *source) []finding {
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
