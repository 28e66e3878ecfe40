package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/host/flow/file"
	"agent/recovery/flow"
	"agent/scripts/testkit/seed"
)

// Whatever is read, mistakes stand inside the file, in order and with a fix, and what has none is a
// flow that can be carried out: a phase has a name of its own, bounds, and a place in the order.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.md", examples + "*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(files, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	k := known("there.md", "a.json", "SPEC.md", "audit/packages.schema.json")
	f.Fuzz(func(t *testing.T, text string) { sound(t, text, k) })
}

// Files made of lines that mean something reach what letters by chance do not.
func TestRandomFiles(t *testing.T) {
	k := known("there.md", "a.json")
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{
		"---", "agent: flow", "# title", "## a", "## b", "## c: third", "## A b", "```phase", "```phase", "```phase", "```flow", "```sh", "```", "```", "```", "```",
		"<!--", "-->", "", "Do it.", "   ~~~phase", "~~~", "    ```phase", "```phases",
		"after = []", "after = ['a']", "after = ['b', 'c']", "inputs = ['there.md', 'a', 'b.md']", "outputs = ['b.md']", "outputs = ['d/', '{name}.md']",
		"answer = 'b.md'", "answer = { path = 'x/{name}', min = 3 }", "[answer]", "path = 'b.md'", "[[outputs]]", "each = 'a.json'", "model = 'runbook'", "mode = 'plan'",
		"on-fail = 'a'", "on-fail = 'ask'", "tries = 2", "redo = 'safe'", "check = { run = 'true' }", "check.run = 'x'", "x = 1", "pass = 'ok'", "rounds = 2", "a.b.c = [{}]", "a = [[1]]",
	}), 0, 60)
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) { sound(t, strings.Join(lines.Draw(t, "lines"), "\n"), k) })
}

// sound checks what holds of every file.
func sound(t interface {
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, text string, k file.Known) {
	p := file.Parse("f.md", text, k)
	lines := 1 + strings.Count(text, "\n")
	last := file.Mistake{}
	for _, m := range p.Mistakes() {
		if m.Line < 1 || m.Line > lines || m.Column < 1 || m.What == "" || m.Fix == "" || strings.ContainsAny(m.What+m.Fix, "\n\x1b") {
			t.Errorf("%+v of %d lines", m, lines)
		}
		if m.Line < last.Line || m.Line == last.Line && m.Column < last.Column || m == last {
			t.Errorf("%+v comes behind %+v", m, last)
		}
		last = m
	}
	if p.Err() != nil {
		return
	}
	if p.Graph == nil || len(p.Definition.Phases) == 0 || len(p.Graph.Order()) != len(p.Definition.Phases) || len(p.Lines) != len(p.Definition.Phases) {
		t.Fatalf("%+v", p)
	}
	for i, phase := range p.Definition.Phases {
		if !flow.ValidName(phase.Name) || p.Definition.Phase(phase.Name) != &p.Definition.Phases[i] || phase.Tries < 1 || phase.Rounds < 1 || phase.Prompt == "" {
			t.Errorf("%+v", phase)
		}
	}
}
