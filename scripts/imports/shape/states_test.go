package shape

import (
	"fmt"
	"strings"
	"testing"
)

// methods are n methods of a type.
func methods(receiver string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "func (x %s) m%d() {}\n", receiver, i)
	}
	return text.String()
}

// The widest state of a package is s, with two methods of its own, and what may reach it.
func TestWhoCanChangeAState(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want touch
	}{
		"methods":              {"", touch{methods: 2}},
		"functions":            {"func f(x s) {}\nfunc g(n int, x *s, m int) {}", touch{2, 2, 0}},
		"two parameters":       {"func f(x, y *s) {}", touch{2, 1, 0}},
		"behind another":       {"type o struct{ n, m int }\nfunc f(x o, y s) {}", touch{2, 1, 0}},
		"a third parameter":    {"func f(n, m int, x *s) {}", touch{methods: 2}},
		"a method's parameter": {"type o int\nfunc (o) f(x *s) {}", touch{methods: 2}},
		"a list":               {"func f(x []s) {}", touch{methods: 2}},
		"embedded":             {"type o struct { s; n int }\n" + methods("*o", 3), touch{2, 0, 3}},
		"a pointer embedded":   {"type o struct { *s; n int }\n" + methods("o", 3), touch{2, 0, 3}},
		"held":                 {"type o struct { x *s; n int }\n" + methods("*o", 3), touch{methods: 2}},
		"nothing else":         {"type o struct { x *s }\n" + methods("*o", 3), touch{2, 0, 3}},
		"a list of it":         {"type o struct { list []*s }\n" + methods("*o", 3), touch{methods: 2}},
		"an interface":         {"type i interface { m() }\ntype o struct { i }\n" + methods("*o", 3), touch{methods: 2}},
		"its own type":         {"type o = s\nfunc (o) p() {}", touch{methods: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			m := module(t, map[string]string{"a/a.go": "package a\n\ntype s struct{ n, m int }\n\n" + methods("*s", 2) + c.text + "\n"})
			for name, got := range m.states() {
				if name.Name() == "s" && got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			}
		})
	}
}

// A struct that holds another and is held by it is a part of it.
func TestAWayBack(t *testing.T) {
	m := module(t, map[string]string{"a/a.go": "package a\n\ntype s struct{ part *part }\n\ntype part struct {\n\ts *s\n\tn int\n}\n\n" + methods("*s", 2) + methods("part", 3)})
	for name, got := range m.states() {
		if want := map[string]touch{"s": {2, 0, 3}, "part": {3, 0, 2}}[name.Name()]; got != want {
			t.Errorf("%s: got %+v, want %+v", name.Name(), got, want)
		}
	}
}

func TestWidestAndWideStates(t *testing.T) {
	files := map[string]string{
		"a/a.go": "package a\n\ntype Wide struct{}\n\ntype narrow struct{}\n\ntype number int\n\n" +
			methods("*Wide", 61) + methods("narrow", 59) + methods("number", 90) + "func f(x *narrow) {}\n",
		// What another package does to it is not its own.
		"b/b.go": "package b\n\nimport \"m/a\"\n\ntype holder struct{ *a.Wide }\n\nfunc (holder) m() {}\n\nfunc f(x *a.Wide) {}\n",
	}
	want := " 61 a.Wide: 61 methods, 0 takers, 0 methods of holders"
	expect(t, "widest-state", files, 61, want)
	expect(t, "wide-states", files, 1, want)
}

// A struct without methods is a state as well: functions can take it.
func TestAStateWithoutMethods(t *testing.T) {
	var text strings.Builder
	for i := range 62 {
		fmt.Fprintf(&text, "func f%d(x *s) {}\n", i)
	}
	expect(t, "wide-states", map[string]string{"a/a.go": "package a\n\ntype s struct{}\n\n" + text.String()}, 1, " 62 a.s: 0 methods, 62 takers, 0 methods of holders")
}
