package shape

import (
	"strings"
	"testing"
)

// A statement is what acts: a block, a clause and a label only hold others.
func TestStatementsThatCount(t *testing.T) {
	for text, want := range map[string]int{
		"g()":                                1,
		"{ g(); g() }":                       2,
		"if x := g(); x { g() } else { }":    3,
		"if x { } else if y { }":             2,
		"switch x { case 1: g(); default: }": 2,
		"select { case <-c: g() }":           3,
		"here: for { break here }":           2,
		";;":                                 0,
		"g(func() { g(); g() })":             3,
		"var x int":                          1,
		"go g()":                             1,
	} {
		m := module(t, program(text))
		if n := statements(m.functions()[0].body); n != want {
			t.Errorf("%s has %d statements, want %d", text, n, want)
		}
	}
}

func TestLongFunctions(t *testing.T) {
	files := map[string]string{
		"a/a.go": "package a\n\nfunc f() {\n" + calls(41) + "\n}\n\nfunc short() {\n{" + calls(40) + "\n}\n}\n",
		"a/b.go": "package a\n\nfunc (t T) nested() {\n" + calls(20) + "\ng(func() {\n" + calls(20) + "\n})\n}\n\nvar kept = []func(){func() {\n" + calls(42) + "\n}}\n",
	}
	expect(t, "long-functions", files, 3, " 42 a/b.go:48 kept", " 41 a/b.go:3 nested", " 41 a/a.go:3 f")
}

func TestComplexity(t *testing.T) {
	for text, want := range map[string]int{
		"g()":                             1,
		"if x { } else if y { } else { }": 3,
		"for { }; for range x { }":        3,
		"switch x { case 1, 2: case 3: default: }":   3,
		"switch x.(type) { case int: }":              2,
		"select { case <-c: case c <- 1: default: }": 3,
		"x = a && b || !c":                           3,
		"g(func() { if x { } })":                     2,
		"x = a & b | c":                              1,
		"goto end; end: return":                      1,
	} {
		m := module(t, program(text))
		if n := complexity(m.functions()[0].body); n != want {
			t.Errorf("%s has a complexity of %d, want %d", text, n, want)
		}
	}
}

func TestBranchedFunctions(t *testing.T) {
	expect(t, "branched-functions", map[string]string{
		"a/a.go": "package a\n\nfunc f() {\n" + strings.Repeat("if x {\n}\n", 15) + "}\n\nfunc plain() {\n" + strings.Repeat("if x {\n}\n", 14) + "}\n",
	}, 1, " 16 a/a.go:3 f")
}

func TestSolidRuns(t *testing.T) {
	for name, c := range map[string]struct {
		statements []string
		want       string // the runs that are too long
	}{
		"12 statements":               {[]string{calls(12)}, ""},
		"13 statements":               {[]string{calls(13)}, " 13 a/a.go:4 f"},
		"a blank line":                {[]string{calls(6), "", calls(7)}, ""},
		"a line of comment":           {[]string{calls(6), "// next", calls(7)}, ""},
		"a comment behind code":       {[]string{calls(6), "g() // next", calls(6)}, " 13 a/a.go:4 f"},
		"a comment behind a part":     {[]string{calls(6), "g(1,", "2, // two", "3)", calls(6)}, " 13 a/a.go:4 f"},
		"a block of comment":          {[]string{calls(6), "/* next\nand\nmore */", calls(7)}, ""},
		"nested statements":           {[]string{calls(6), "if x {", calls(6), "}"}, " 13 a/a.go:4 f"},
		"a blank line in a block":     {[]string{calls(6), "if x {", "", calls(6), "}"}, ""},
		"on one line":                 {[]string{strings.ReplaceAll(calls(13), "\n", "; ")}, " 13 a/a.go:4 f"},
		"a string":                    {[]string{calls(6), "x = `\n\n// no comment\n`", calls(6)}, " 13 a/a.go:4 f"},
		"behind a string":             {[]string{calls(6), "x = `\n`", "", calls(6)}, ""},
		"a composite value":           {[]string{calls(6), "x = []int{", "1,", "", "2,", "}", calls(6)}, " 13 a/a.go:4 f"},
		"a comment in a composite":    {[]string{calls(6), "x = []int{", "// one", "1,", "}", calls(6)}, ""},
		"a function in a composite":   {[]string{calls(6), "x = T{", "f: func() {", "g()", "", "g()", "},", "}", calls(6)}, ""},
		"a string in such a function": {[]string{calls(6), "x = T{", "f: func() {", "y(`", "", "`)", "},", "}", calls(6)}, " 14 a/a.go:4 f"},
		"a second run":                {[]string{"g()", "", calls(14)}, " 14 a/a.go:6 f"},
	} {
		t.Run(name, func(t *testing.T) {
			m := measured(t, "solid-runs", program(c.statements...))
			if got := strings.Join(m.Found, "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestDistantHelpers(t *testing.T) {
	expect(t, "distant-helpers", map[string]string{
		"a/a.go": `package a

type t struct{}

type list[T any] struct{}

func (t) far() {}
func (list[T]) add() {}

func distant() {}
func near() { near2() }
func near2() {}
func twice() {}
func Exported() {}
func unused() {}
func tested() {}
func generic[T any](T) {}

func use() { near() }
`,
		"a/b.go": `package a

func more(x t) { x.far(); distant(); twice(); Exported(); generic(1); list[int]{}.add() }
func most() { twice(); more(t{}); most() }
`,
		"a/a_test.go": "package a\n\nfunc test() { tested() }\n",
	}, 4, "a/a.go generic, used in b.go", "a/a.go far, used in b.go", "a/a.go distant, used in b.go", "a/a.go add, used in b.go")
}

func TestDuplicateLines(t *testing.T) {
	long := func(name, call string, n int) string {
		return "func " + name + "() {\n" + strings.Repeat(call+"\n", n) + "}\n"
	}
	expect(t, "duplicate-lines", map[string]string{
		// The same syntax in two packages, whatever the names are; and a shorter one.
		"a/a.go": "package a\n\n" + long("one", "x(1)", 8) + long("short", "x.y(1, 2)", 7),
		"b/b.go": "package b\n\n" + long("two", "y(2)", 8) + long("brief", "x.y(1, 2)", 7),
		// Twice in one package.
		"c/c.go": "package c\n\n" + long("one", "x.y(3)", 9) + long("two", "x.y(3)", 9),
		// One name in three packages beside each other, below the first level; two are not enough.
		// Two of the three have the same syntax, too, and count once.
		"d/e/f/f.go": "package f\n\n" + long("named", "x = 1", 8) + long("pair", "x = !y", 8),
		"d/e/g/g.go": "package g\n\n" + long("named", "x = 1", 8) + long("pair", "x = -y.z", 8),
		"d/e/h/h.go": "package h\n\n" + long("named", "go x()", 10),
		// The folders in one of the first level have nothing in common.
		"i/j/j.go": "package j\n\n" + long("same", "x[1]++", 8),
		"i/k/k.go": "package k\n\n" + long("same", "x.y++", 8),
		"i/l/l.go": "package l\n\n" + long("same", "x.y[1]++", 8),
	}, 10+10+10+10+12, "a/a.go:3 one", "b/b.go:3 two", "d/e/f/f.go:3 named", "d/e/g/g.go:3 named", "d/e/h/h.go:3 named")
}
