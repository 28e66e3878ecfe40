package main

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// processWide are functions that change what belongs to a process, by package: every later test,
// and every one that runs at the same time, would see the change.
func processWide() map[string][]string {
	system := []string{"Umask", "Chdir", "Fchdir", "Chroot", "Setrlimit"}
	return map[string][]string{
		"os":                    {"Chdir", "Setenv", "Unsetenv", "Clearenv"},
		"syscall":               append([]string{"Setenv", "Unsetenv", "Clearenv"}, system...),
		"golang.org/x/sys/unix": append([]string{"Setenv", "Unsetenv", "Clearenv"}, system...),
		"os/signal":             {"Ignore", "Reset"},
	}
}

// sharedState finds where a test changes what it shares with others: the state of its process, and
// files at a path that another test run, or another user, has too. TestMain may set the
// environment, since it does so before every test.
func sharedState(s *source) []finding {
	if !s.test {
		return nil
	}
	var found []finding
	for _, pkg := range slices.Sorted(maps.Keys(processWide())) {
		names := processWide()[pkg]
		for _, pos := range selectorUses(s, pkg, func(name string) bool { return slices.Contains(names, name) }) {
			if !setsEnvironmentFirst(s, pos) {
				found = append(found, s.at(pos, "a test changes what its whole process shares: use t.Setenv, t.Chdir or a process of its own"))
			}
		}
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		for _, path := range fixedPath().FindAllString(lit.Value, -1) {
			if !strings.Contains(path, "XXX") { // a template, of which mktemp makes a path that nobody else has
				found = append(found, s.at(lit.Pos(), "%s is a path that every user and every run of the tests has: use t.TempDir or mktemp, or, in what is only read, a path elsewhere", path))
			}
		}
		return true
	})
	return found
}

// fixedPath matches a path below a folder that everybody may write to.
func fixedPath() *regexp.Regexp {
	return regexp.MustCompile(`/(?:var/tmp|tmp|dev/shm)/[\pL\d._-][^\s"'` + "`" + `;|&)]*`)
}

// setsEnvironmentFirst reports whether the function at pos sets the environment in TestMain.
func setsEnvironmentFirst(s *source, pos token.Pos) bool {
	for _, decl := range s.syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || pos < fn.Pos() || pos >= fn.End() {
			continue
		}
		line := string(s.text[s.fset.Position(pos).Offset:])
		return fn.Recv == nil && fn.Name.Name == "TestMain" && regexp.MustCompile(`^\w+\.(Setenv|Unsetenv)\(`).MatchString(line)
	}
	return false
}
