package command_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants are the values of the constants of a type in a file.
func constants(t *testing.T, path, kind string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		id, named := spec.Type.(*ast.Ident)
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && named && id.Name == kind {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[value] = true
		}
		return true
	})
	return values
}

// How a phase stands, how a part of it ended, what a look found and what is asked are values of the
// program, and the topic lists all of them and no other.
// EX-26.
func TestScriptingTopicOnFlows(t *testing.T) {
	text := strings.Join(strings.Fields(texts(t)["scripting"]), " ")
	for _, c := range []struct{ path, kind, begins string }{
		{"../flow/table/table.go", "Status", "The `status` of a phase is "},
		{"../../recovery/journal/flow.go", "PhaseOutcome", "The `outcome` in `phase.ended` is "},
		{"../../recovery/journal/flow.go", "ArtifactState", "The `state` of an artifact is "},
		{"../../recovery/journal/flow.go", "PhaseAbout", "The `about` in the `phase` of a question is "},
	} {
		_, rest, ok := strings.Cut(text, c.begins)
		sentence, _, _ := strings.Cut(rest, ". ")
		sentence, _, _ = strings.Cut(sentence, "; ")
		listed := map[string]bool{}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(sentence, -1) {
			listed[m[1]] = true
		}
		if want := constants(t, c.path, c.kind); !ok || len(want) < 5 || !maps.Equal(listed, want) {
			t.Errorf("%s has %v, the topic %v", c.kind, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(listed)))
		}
	}
}
