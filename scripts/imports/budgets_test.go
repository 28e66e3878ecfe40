package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// function has exactly n lines.
func function(doc string, n int) string {
	return "package host\n\n" + doc + "func f() {\n" + strings.Repeat("\tg()\n", n-2) + "}\n"
}

// file has exactly n lines.
func file(head string, n int) string {
	text := head + "package host\n"
	return text + strings.Repeat("\n", n-strings.Count(text, "\n")-1) + "const end = 0"
}

func TestEveryBudgetFires(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"function", "host/a.go", function("", 61), "host/a.go:3: func f of 61 lines, the budget is 60"},
		{"argument without a reason", "host/a.go", function("// f is long.\n//\n// Over budget:\n", 61), "func f of 61 lines"},
		{"literal", "host/a.go", strings.Replace(function("", 62), "func f()", "var f = func()", 1), "function literal of 62 lines"},
		{"script", "scripts/bench/main.go", function("", 61), "func f of 61 lines"},
		{"file", "host/a.go", file("", 401), "file of 401 lines, the budget is 400"},
		{"init", "host/a.go", "package host\n\nfunc init() {}\n", "host/a.go:3: func init"},
		{"init in a test", "host/a_test.go", "package host\n\nfunc init() {}\n", "func init"},
		{"util package", "host/names.go", "package util\n", "package util: name it after what it does"},
		{"common folder", "host/common/a.go", "package shared\n", "package common"},
		{"utils test", "host/a_test.go", "package utils_test\n", "package utils"},
		{"sleep", "host/a_test.go", "package host\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", "host/a_test.go:3: a test sleeps"},
		{"renamed sleep", "scripts/a_test.go", "package scripts\nimport tm \"time\"\nfunc f() { tm.Sleep(1) }\n", "a test sleeps"},
		{"sleep by dot import", "host/a_test.go", "package host\nimport . \"time\"\nfunc f() { Sleep(1) }\n", "a test sleeps"},
		{"umask", "db/a_test.go", "package db\nimport \"syscall\"\nfunc f() { syscall.Umask(0) }\n", "db/a_test.go:3: a test changes what its whole process shares"},
		{"umask by unix", "db/a_test.go", "package db\nimport \"golang.org/x/sys/unix\"\nfunc f() { unix.Umask(0) }\n", "use t.Setenv, t.Chdir or a process of its own"},
		{"renamed umask", "scripts/a_test.go", "package scripts\nimport sys \"syscall\"\nfunc f() { sys.Umask(0) }\n", "its whole process shares"},
		{"limit", "db/a_test.go", "package db\nimport \"golang.org/x/sys/unix\"\nfunc f() { unix.Setrlimit(0, nil) }\n", "its whole process shares"},
		{"signal", "db/a_test.go", "package db\nimport \"os/signal\"\nfunc f() { signal.Ignore() }\n", "its whole process shares"},
		{"folder", "db/a_test.go", "package db\nimport \"os\"\nfunc f() { os.Chdir(\"x\") }\n", "its whole process shares"},
		{"folder in TestMain", "db/a_test.go", "package db\nimport \"os\"\nfunc TestMain() { os.Chdir(\"x\") }\n", "its whole process shares"},
		{"environment", "db/a_test.go", "package db\nimport \"os\"\nfunc f() { os.Setenv(\"A\", \"b\") }\n", "its whole process shares"},
		{"environment in a function value", "db/a_test.go", "package db\nimport \"os\"\nvar f = os.Setenv\n", "its whole process shares"},
		{"fixed path", "db/a_test.go", "package db\nconst a = \"/tmp" + "/x\"\n", "db/a_test.go:2: /tmp" + "/x is a path that every user"},
		{"fixed path in a script", "db/a_test.go", "package db\nconst a = `cd / && echo x >/var/tmp" + "/a/b; ls`\n", "/var/tmp" + "/a/b is a path that every user"},
		{"fixed path in memory", "scripts/a_test.go", "package scripts\nconst a = \"rm -f '/dev/shm" + "/x'\"\n", "/dev/shm" + "/x is a path that every user"},
		{"comment", "host/a.go", "package host\n\n// " + strings.Repeat("x", 98) + "\n", "host/a.go:3: a comment of 101 columns, the budget is 100"},
		{"indented comment", "host/a_test.go", "package host\n\nfunc f() {\n\t// " + strings.Repeat("x", 94) + "\n}\n", "host/a_test.go:4: a comment of 101 columns"},
		{"comment behind code", "host/a.go", "package host\n\nvar a = 1 // " + strings.Repeat("x", 98) + "\n", "host/a.go:3: a comment of 101 columns"},
		{"comment in a block", "host/a.go", "package host\n\n/* a\n" + strings.Repeat("x", 101) + " */\n", "host/a.go:4: a comment of 104 columns"},
		{"comment in SQL", "queries/runs.sql", "-- name: A :one\n  -- " + strings.Repeat("x", 96) + "\nSELECT 1;\n", "queries/runs.sql:2: a comment of 101 columns"},
		{"comment in a script", "scripts/check", "#!/bin/sh\n# " + strings.Repeat("x", 99) + "\n", "scripts/check:2: a comment of 101 columns"},
		{"comment in a library", "scripts/lib.bash", "# " + strings.Repeat("x", 99) + "\n", "scripts/lib.bash:1: a comment of 101 columns"},
		{"word in a comment", "host/a.go", "package host\n\n// a\n// TODO: b\n", `"TODO": finish it`},
		{"word in a block comment", "host/a_test.go", "package host\n\n/* FIXME */\n", `host/a_test.go:3: "FIXME"`},
		{"word in SQL", "queries/runs.sql", "-- name: A :one\n-- XXX\nSELECT 1;\n", `queries/runs.sql:2: "XXX"`},
		{"stub in a comment", "host/a.go", "package host\n\n// Not implemented on Plan 9.\n", `"Not implemented"`},
		{"stub in a string", "host/a.go", "package host\n\nconst a = \"fetch: not implemented\"\n", "host/a.go:3: \"not implemented\": a feature appears when it works"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refuses(t, tt.file, tt.text, tt.want) })
	}
}

func TestWhatTheBudgetsAllow(t *testing.T) {
	code, said := check(t, map[string]string{
		"host/function.go":    function("", 60),
		"host/file.go":        file("", 400),
		"host/long_test.go":   function("", 200),
		"host/longer_test.go": file("", 900),
		"db/dbsqlc/db.go":     "// Code generated by sqlc. DO NOT EDIT.\n\npackage dbsqlc\n\n" + strings.Repeat("// TODO\n", 500) + "func init() {}\n",
		"host/wide.go":        "package host\n\n// " + strings.Repeat("ä", 97) + "\nvar a = 1" + strings.Repeat(" ", 90) + "// one\n\nconst b = `\n// " + strings.Repeat("x", 200) + "`\n",
		"scripts/run":         "#!/bin/sh\n# " + strings.Repeat("x", 98) + "\necho " + strings.Repeat("x", 98) + " # x\n",
		"db/migrations/1.sql": "-- " + strings.Repeat("x", 98) + "\n",
		"LICENSE":             "# " + strings.Repeat("x", 200),
		"host/init.go":        "package host\n\ntype t struct{}\n\nfunc (t) init() {}\n",
		"host/words.go":       "package host\n\n// mktemp -t aXXXXXX makes a TODOLIST\nconst a = \"TODO\"\n",
		"host/words_test.go":  "package host\n\nconst b = \"TODO: not implemented\"\n",
		"host/shared.go":      "package host\nimport \"syscall\"\nconst a = \"/tmp" + "/x\"\nfunc f() { syscall.Umask(0) }\n",
		"host/shared_test.go": "package host\nimport \"os\"\nfunc TestMain() { os.Setenv(\"A\", \"b\") }\nfunc f() { t.Setenv(\"A\", \"b\"); os.Getenv(\"A\") }\n",
		"host/paths_test.go":  "package host\n\n// in /tmp" + "/x\nconst a, b, c = \"mktemp -p /tmp\", \"/tmp/a.XXXXXX\", \"ls /tmp /var/tmp; ls /dev/shm/\"\n",
		"host/sleep.go":       "package host\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
	})
	if code != 0 {
		t.Errorf("exit code %d for a tree within the budgets:\n%s", code, said)
	}
}

// bulky is a type of so many methods and fields.
func bulky(doc string, methods, fields int) string {
	text := "package host\n\n" + doc + "type big struct {\n" + strings.Repeat("\ta int\n", fields) + "}\n"
	for i := range methods {
		text += fmt.Sprintf("func (b *big) m%d() {}\n", i)
	}
	return text
}

// many are so many files of one package, each of so many lines.
func many(files, lines int) map[string]string {
	out := map[string]string{}
	for i := range files {
		out[fmt.Sprintf("host/f%d.go", i)] = file("", lines)
	}
	return out
}

// alikeFiles are so many files of one package with the same prefix, and files that do not count:
// the prefix alone, tests, and what is there for another system.
func alikeFiles(n int) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"run", "run_a_test", "run_a_linux", "run_a_other", "start_other"} {
		out["host/"+name+".go"] = "package host\n"
	}
	for i := range n - 1 {
		out[fmt.Sprintf("host/run_%c.go", 'b'+i)] = "package host\n"
	}
	return out
}

// What gathers in one type or one package is counted over all of its files; an exception holds up
// to the number that it names.
func TestEveryTotalFires(t *testing.T) {
	two := map[string]string{"host/a.go": bulky("", 40, 25), "host/b.go": "package host\n\nfunc (b big) more() {}\n"}
	argued := "// big is big.\n//\n// Over budget: at most 50 methods: it is\n// a table\n// Over budget: at most 9 hats: it rains\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"methods in two files": {two, "host/a.go:3: type big has 41 methods, the budget is 40"},
		"fields":               {map[string]string{"host/a.go": bulky("", 0, 26)}, "host/a.go:3: type big has 26 fields, the budget is 25"},
		"files":                {many(26, 2), "package host has 26 files, the budget is 25"},
		"lines":                {many(11, 400), "package host has 4400 lines, the budget is 4000"},
		"files of one prefix":  {alikeFiles(4), "package host has 4 files of one prefix, the budget is 3"},
		"more than argued for": {map[string]string{"host/a.go": bulky(argued, 51, 0)}, "has 51 methods, the budget is 40, its exception allows 50"},
		"no reason":            {map[string]string{"host/a.go": bulky(strings.Replace(argued, " it is\n// a table", "", 1), 41, 0)}, "has 41 methods"},
		"another budget":       {map[string]string{"host/a.go": bulky(argued, 0, 26)}, "has 26 fields"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, said := check(t, c.files); code != 1 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, said:\n%swant %q", code, said, c.want)
			}
		})
	}
	if code, said := check(t, alikeFiles(3)); code != 0 {
		t.Errorf("three files of one prefix: exit code %d, said:\n%s", code, said)
	}
	two["host/b.go"] = "package host\n\nfunc (b big) m0() {}\n" // of another system
	two["host/c.go"], two["host/d_test.go"] = bulkyNamed("more", argued), "package host\n\nfunc (b *big) only() {}\n"
	if code, said := check(t, two); code != 0 || !strings.Contains(said, "note: type more has 45 methods, the budget is 40: it is a table") {
		t.Errorf("exit code %d, said:\n%s", code, said)
	}
}

func bulkyNamed(name, doc string) string { return strings.ReplaceAll(bulky(doc, 45, 0), "big", name) }

func TestAnArguedExceptionIsShownAndAllowed(t *testing.T) {
	code, said := check(t, map[string]string{
		"host/a.go": function("// f is a table.\n//\n// Over budget: one row\n// per state\n//\n// It ends.\n", 70),
		"host/b.go": file("// Over budget: one list that reads as one\n\n", 420),
		"host/c.go": "package host\n\n// Over budget: it comes first\nfunc init() {}\n",
	})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"note: func f of 70 lines, the budget is 60: one row per state", "note: file of 420 lines, the budget is 400: one list", "call it where it is needed: it comes first"} {
		if !strings.Contains(said, want) {
			t.Errorf("said:\n%swant %q", said, want)
		}
	}
}

func TestWhatCannotBeCheckedIsNoSuccess(t *testing.T) {
	if code, said := check(t, map[string]string{"host/a.go": "package"}); code != 2 || !strings.Contains(said, "read host/a.go") {
		t.Errorf("a file that does not parse: exit code %d, said %q", code, said)
	}
	var stdout, stderr strings.Builder
	if code := run(fstest.MapFS{}, []string{"import"}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), `unknown check "import"`) {
		t.Errorf("an unknown check: exit code %d, said %q", code, stderr.String())
	}
}
