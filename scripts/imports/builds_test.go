package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBuilds(t *testing.T) {
	const file = "package x\n\nimport %q\n\nfunc f() {\n\t%s\n}\n"
	for _, c := range []struct{ path, body, want string }{
		{"host/a_test.go", `exec.Command("go", "build", "-o", "x", ".")`, "host/a_test.go:6: starts go build: "},
		{"host/fleet/log/replay/a_test.go", `exec.Command("go", "build")`, "host/fleet/log/replay/a_test.go:6: starts go build: "},
		{"scripts/page/a_test.go", `exec.CommandContext(ctx, "go", "run", "./x")`, "scripts/page/a_test.go:6: starts go run: "},
		{"host/a_test.go", `p := exec.Command; exec.CommandContext(ctx, "go", "install", "./x"); _ = p`, "starts go install: "},
		{"host/a_test.go", `args := []string{"build", "."}; exec.Command("go", args...)`, "starts go build: "},
		{"host/a_test.go", `c := exec.Cmd{Path: path, Args: []string{"go", "build"}}`, "starts go build: "},
		{"host/a_test.go", `exec.Command("sh", "-c", "cd x && go build .")`, "starts go build: "},

		{"host/a.go", `exec.Command("go", "build")`, ""},
		{"scripts/testkit/testbin/a_test.go", `exec.Command("go", "build")`, ""},
		{"scripts/testbin/a_test.go", `exec.Command("go", "run")`, ""},
		{"host/a_test.go", `exec.Command("go", "test", "./x")`, ""},
		{"host/a_test.go", `exec.Command("go", "list", "run")`, ""},
		{"host/a_test.go", `exec.Command("agent", "run")`, ""},
		{"host/a_test.go", `args := []string{"list"}; exec.Command("go", args...)`, ""},
		{"host/a_test.go", `args := []string{"run", "--detach"}; exec.Command("agent", args...)`, ""},
		{"host/a_test.go", `permit("go build ./...")`, ""},
	} {
		tree := fstest.MapFS{c.path: {Data: fmt.Appendf(nil, file, "os/exec", c.body)}}
		sources, err := load(tree)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range each(sources, checkBuilds) {
			got += f.String() + "\n"
		}
		if strings.Count(got, "\n") > 1 || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s: %q, want %q", c.path, c.body, got, c.want)
		}
	}
}

// Tests of every package may take what they need from the kit, and nothing else may.
func TestKitIsForTests(t *testing.T) {
	kit := importing("x", "agent/scripts/testkit/testbin")
	for path, want := range map[string]int{"host/a_test.go": 0, "tools/mcp/a_test.go": 0, "host/fleet/log/replay/a_test.go": 0, "host/a.go": 1, "tools/mcp/a.go": 1} {
		if code, out := check(t, map[string]string{path: kit}); code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", path, code, want, out)
		}
	}
}

// The check is one of those that a landing must pass.
func TestBuildsAreABudget(t *testing.T) {
	text := "package x\n\nimport \"os/exec\"\n\nfunc f() { exec.Command(\"go\", \"build\") }\n"
	var out, errs strings.Builder
	code := run(fstest.MapFS{"host/a_test.go": {Data: []byte(text)}}, []string{"forms"}, &out, &errs)
	if code != 1 || !strings.Contains(out.String(), "host/a_test.go:5: starts go build") {
		t.Errorf("%d\n%s%s", code, &out, &errs)
	}
}
