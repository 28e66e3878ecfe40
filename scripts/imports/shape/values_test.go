package shape

import (
	"maps"
	"testing"
)

// layered is a module with a store, what opens it, and files of front doors.
func layered(doors map[string]string) map[string]string {
	files := map[string]string{
		"db/db.go":           "package db\n\ntype Store struct{ Path string }\n\nfunc (s *Store) Close() {}\n\nfunc Open() *Store { return nil }\n\ntype Closer interface{ Shut() }\n",
		"db/rows/rows.go":    "package rows\n\ntype Row[T any] struct{ Key T }\n\nfunc (r Row[T]) Next() bool { return false }\n",
		"host/app/app.go":    "package app\n\nimport (\n\t\"m/db\"\n\t\"m/db/rows\"\n)\n\ntype App struct {\n\t*db.Store\n\tName string\n\tRow rows.Row[int]\n}\n\ntype Store = db.Store\n\nfunc (a *App) Opened() *db.Store { return a.Store }\n\nfunc (a *App) Closer() db.Closer { return nil }\n",
		"host/serve/acts.go": "package serve\n\ntype Server struct{ Port int }\n",
	}
	maps.Copy(files, doors)
	return files
}

func TestForeignValues(t *testing.T) {
	door := func(body string) string {
		return "package serve\n\nimport \"m/host/app\"\n\nfunc f(a *app.App) {\n" + body + "\n}\n"
	}
	for name, c := range map[string]struct {
		body  string
		found []string
	}{
		"a method":           {"a.Opened().Close()", []string{"host/serve/door.go:6 db.Close"}},
		"a field":            {"_ = a.Opened().Path", []string{"host/serve/door.go:6 db.Path"}},
		"a promoted field":   {"_ = a.Path", []string{"host/serve/door.go:6 db.Path"}},
		"a variable":         {"s := a.Opened()\ns.Close()\ns.Path = \"x\"", []string{"host/serve/door.go:8 db.Path", "host/serve/door.go:7 db.Close"}},
		"a method value":     {"g := a.Opened().Close\ng()", []string{"host/serve/door.go:6 db.Close"}},
		"a method of a type": {"g := (*app.Store).Close\n_ = g", []string{"host/serve/door.go:6 db.Close"}},
		"an interface":       {"a.Closer().Shut()", []string{"host/serve/door.go:6 db.Shut"}},
		"a generic type":     {"_ = a.Row.Next()\n_ = a.Row.Key", []string{"host/serve/door.go:7 db/rows.Key", "host/serve/door.go:6 db/rows.Next"}},
		"of the door's own":  {"_ = a.Name\n_ = a.Opened()\n_ = Server{}.Port", nil},
		"a composite value":  {"_ = app.Store{Path: \"x\"}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "foreign-values", layered(map[string]string{"host/serve/door.go": door(c.body)}), float64(len(c.found)), c.found...)
		})
	}
}

func TestWhichLayersAreForeign(t *testing.T) {
	use := func(pkg string) string {
		return "package " + pkg + "\n\nimport (\n\t\"m/db\"\n\t\"m/host/serve\"\n)\n\nfunc f(s *serve.Server, d *db.Store) {\n\t_ = s.Port\n\td.Close()\n}\n"
	}
	expect(t, "foreign-values", layered(map[string]string{
		"host/command/serve.go": use("command"), // the command that starts the server
		"host/command/run.go":   use("command"),
		"host/acp/a.go":         use("acp"),
		"host/acp/deep/a.go":    use("deep"),
		"host/other/a.go":       use("other"),
		"db/reverse/a.go":       use("reverse"),
		"recovery/a.go":         use("recovery"),
		"recovery2/a.go":        use("recovery2"),
	}), 9,
		"recovery/a.go:10 db.Close",
		"host/command/serve.go:10 db.Close",
		"host/command/run.go:9 host/serve.Port", "host/command/run.go:10 db.Close",
		"host/acp/deep/a.go:9 host/serve.Port", "host/acp/deep/a.go:10 db.Close",
		"host/acp/a.go:9 host/serve.Port", "host/acp/a.go:10 db.Close",
		"db/reverse/a.go:9 host/serve.Port",
	)
}

func TestAliases(t *testing.T) {
	other := "package b\n\ntype T struct{ N int }\n\ntype G[K any] struct{}\n\nvar V, W T\n\nconst C = 1\n\nfunc F(a, b int) int { return 0 }\nfunc P(a ...int) {}\nfunc Of[K any](k K) {}\nfunc None() {}\n\nfunc (T) M(n int) {}\n"
	for text, found := range map[string][]string{
		"type X = b.T":                         {"a/a.go:5 X"},
		"type X = b.G[int]":                    {"a/a.go:5 X"},
		"type (\n\tX = b.T\n\tY = b.G[int]\n)": {"a/a.go:7 Y", "a/a.go:6 X"},
		"var X = b.V":                          {"a/a.go:5 X"},
		"var X, y = b.V, (b.W)":                {"a/a.go:5 y", "a/a.go:5 X"},
		"var X b.T = b.V":                      {"a/a.go:5 X"},
		"var X = b.F":                          {"a/a.go:5 X"},
		"const X = b.C":                        {"a/a.go:5 X"},
		"func X(a, b2 int) int { return b.F(a, b2) }":              {"a/a.go:5 X passes on to b.F"},
		"func X(a ...int) { b.P(a...) }":                           {"a/a.go:5 X passes on to b.P"},
		"func X(k int) { b.Of(k) }":                                {"a/a.go:5 X passes on to b.Of"},
		"func X(k int) { b.Of[int](k) }":                           {"a/a.go:5 X passes on to b.Of"},
		"type t struct{ b b.T }\nfunc (x t) X(n int) { x.b.M(n) }": {"a/a.go:6 X passes on to b.M"},

		"type X b.T":                                                nil, // a type of its own
		"type X = []b.T":                                            nil,
		"type X = own\ntype own int":                                nil,
		"type X = time.Time":                                        nil, // of another module
		"var X = b.V.N":                                             nil,
		"var X = b.F(1, 2)":                                         nil,
		"const X = b.C + 1":                                         nil,
		"func f() { X := b.V; _ = X }":                              nil, // a local
		"func X(a, b2 int) int { return b.F(b2, a) }":               nil, // in another order
		"func X(a, b2, c int) int { return b.F(a, b2) }":            nil, // not all
		"func X(a int) int { return b.F(a, 1) }":                    nil,
		"func X(a, b2 int) int { return 1 + b.F(a, b2) }":           nil,
		"func X(a, b2 int) int { g(); return b.F(a, b2) }":          nil,
		"func X(a, _ int) int { return b.F(a, a) }":                 nil,
		"func X() { b.None() }":                                     nil, // passes nothing on
		"func X(a int) { own(a) }\nfunc own(int) {}":                nil,
		"func X(a int) { time.Sleep(a) }":                           nil,
		"func X(a, b2 int) func() { return func() { b.F(a, b2) } }": nil,
		"func X(f func(int), n int) { f(n) }":                       nil,
	} {
		t.Run(text, func(t *testing.T) {
			expect(t, "aliases", map[string]string{"b/b.go": other, "a/a.go": "package a\n\nimport (\"m/b\"; \"time\")\n\n" + text + "\n"}, float64(len(found)), found...)
		})
	}
	expect(t, "aliases", map[string]string{"b/b.go": other, "a/a.go": "package a\n\nimport . \"m/b\"\n\ntype X = T\n"}, 1, "a/a.go:5 X")
}

func TestUnusedExports(t *testing.T) {
	expect(t, "unused-exports", map[string]string{
		"a/a.go": `package a

type Used struct{}

type Unused struct{}

type Shape interface{ Area() int }

func (Used) Called() {}
func (Used) Uncalled() {}
func (Used) Area() int { return 0 } // an interface requires it
func (Used) String() string { return "" } // as one of another module does
func (Used) private() {}

func Here() {}
func There() { Here() }
func Tested() {}
func Generic[T any]() {}

var Value, Other int
`,
		"b/b.go":      "package b\n\nimport \"m/a\"\n\nfunc f(x a.Used, s a.Shape) {\n\tx.Called()\n\ta.There()\n\ta.Generic[int]()\n}\n",
		"b/b_test.go": "package b\n\nimport \"m/a\"\n\nfunc g() { a.Tested() }\n",
		"c/main.go":   "package main\n\nfunc Main() {}\n",
	}, 4, "a/a.go:5 Unused", "a/a.go:17 Tested", "a/a.go:15 Here", "a/a.go:10 Uncalled")
}
