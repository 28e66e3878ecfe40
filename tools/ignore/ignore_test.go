package ignore

import (
	"testing"

	"agent/tools/ignore/ignoretest"
)

func TestIgnoreRules(t *testing.T) {
	for _, tt := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"a", "x/a", false, true},
		{"/a", "x/a", false, false},
		{"x/a", "y/x/a", false, false},
		{"a/", "a", false, false},
		{"a/", "a", true, true},
		{"*.o\n!b.o", "b.o", false, false},
		{"!b.o\n*.o", "b.o", false, true},
		{"# a", "# a", false, false},
		{`\#a`, "#a", false, true},
		{`\!a`, "!a", false, true},
		{"a ", "a", false, true},
		{`a\ `, "a ", false, true},
		{"a\r\nb", "a", false, true},
		{"\uFEFFa", "a", false, true},
		{"**/a", "x/y/a", false, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**", "a", true, false},
		{"a/**", "a/b", false, true},
		{"a/*", "a/b/c", false, false},
		{"a**b", "axxb", false, true},
		{"[!a]", "é", false, false}, // two bytes in git's eyes
		{"[a-c]x", "bx", false, true},
		{"[]a]", "]", false, true},
		{"[[:digit:]]", "7", false, true},
		{"[", "[", false, false},
		{`a\`, `a\`, false, false},
		{"", "a", false, false},
		{"/", "a", true, false},
		{"!", "a", false, false},
	} {
		g := &Rules{rules: parse(tt.rules)}
		if got := g.LeavesOut(tt.path, tt.dir); got != tt.want {
			t.Errorf("%q, %q: %v", tt.rules, tt.path, got)
		}
	}
}

func FuzzIgnore(f *testing.F) {
	for _, p := range ignoretest.Pieces() {
		f.Add(p, "a/b.o", true)
		f.Add("!"+p+"/x", "é", false)
	}
	f.Fuzz(func(t *testing.T, rules, path string, dir bool) {
		g := &Rules{rules: parse(rules), around: &Rules{prefix: "up", rules: parse(rules)}}
		g.LeavesOut(path, dir)
	})
}

func TestSame(t *testing.T) {
	var none *Rules
	one, two := none.Below("d", "a"), none.Below("d", "b")
	if !one.Same(none.Below("d", "a")) || !none.Same(nil) {
		t.Error("the same rules are not the same")
	}
	for _, other := range []*Rules{nil, two, none.Below("e", "a"), two.Below("d", "a"), {base: "d", prefix: "up", text: "a"}} {
		if one.Same(other) || other.Same(one) {
			t.Errorf("%+v is the same", other)
		}
	}
}
