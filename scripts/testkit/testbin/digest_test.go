package testbin

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestFindTree(t *testing.T) {
	files := map[string]string{
		"/src/go.mod":                "module agent\n\ngo 1.26\n",
		"/src/host/fleet/go.mod":     "// a comment\nmodule agent/fleet\n",
		"/src/host/fleet/lab/go.mod": "module agent/fleet/lab\n",
		"/other/go.mod":              "module other\n",
	}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}

	for folder, watched := range map[string]string{
		"/src":                        "/src",
		"/src/host/command":           "/src",
		"/src/host/fleet":             "/src/host/fleet/../..",
		"/src/host/fleet/log/replay":  "/src/host/fleet/../..",
		"/src/host/fleet/lab/results": "/src/host/fleet/lab/../../..",
	} {
		if got, err := findTree(folder, read); err != nil || got != (tree{"/src", watched}) {
			t.Errorf("from %s: %+v %v, want /src watched as %s", folder, got, err, watched)
		}
	}
	_, err := findTree("/other/below", read)
	if err == nil || err.Error() != "no go.mod of the module agent in /other/below or above it" {
		t.Errorf("where there is no such module: %v", err)
	}
	if _, err := findTree("/src", func(string) ([]byte, error) { return nil, fs.ErrPermission }); err == nil {
		t.Error("a go.mod that cannot be read counts as none")
	}
}

func TestParse(t *testing.T) {
	const list = `
{"Dir": "/go/src/fmt", "GoFiles": ["print.go"]}
{"Dir": "/mod/x@v1", "Module": {"Path": "example.com/x", "Dir": "/mod/x@v1"}, "GoFiles": ["x.go"]}
{"Dir": "/src/db", "Module": {"Path": "agent", "Dir": "/src"}, "GoFiles": ["b.go", "a.go"], "SFiles": ["fast.s"], "EmbedFiles": ["migrations/old/1.sql", "help.md"]}
{"Dir": "/src", "Module": {"Path": "agent", "Dir": "/src"}, "GoFiles": ["main.go"]}`
	files, folders, err := parse(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"db/a.go", "db/b.go", "db/fast.s", "db/help.md", "db/migrations/old/1.sql", "go.mod", "go.sum", "main.go"}; !slices.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}
	if want := []string{".", "db", "db/migrations", "db/migrations/old"}; !slices.Equal(folders, want) {
		t.Errorf("folders %q, want %q", folders, want)
	}

	for _, bad := range []string{"", `{"Dir": "/go/src/fmt"}`, `{"Dir": `} {
		if _, _, err := parse(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Whatever is another build has another digest.
func TestDigest(t *testing.T) {
	recipe, sources := []string{"tags", "linux"}, []source{{"a.go", []byte("ab")}, {"b.go", []byte("c")}}
	seen := map[string]string{}
	for what, digest := range map[string]string{
		"the sources":        digestOf(recipe, sources),
		"another recipe":     digestOf([]string{"tags", "darwin"}, sources),
		"a cut recipe":       digestOf([]string{"tagslinux"}, sources),
		"another text":       digestOf(recipe, []source{{"a.go", []byte("aB")}, {"b.go", []byte("c")}}),
		"a byte moved":       digestOf(recipe, []source{{"a.go", []byte("a")}, {"b.go", []byte("bc")}}),
		"another name":       digestOf(recipe, []source{{"a.go", []byte("ab")}, {"c.go", []byte("c")}}),
		"a file less":        digestOf(recipe, sources[:1]),
		"an empty file more": digestOf(recipe, append(slices.Clone(sources), source{"c.go", nil})),
	} {
		if !isDigest(digest) {
			t.Errorf("%s: %q is no name for a folder", what, digest)
		}
		if seen[digest] != "" {
			t.Errorf("%s and %s have one digest", what, seen[digest])
		}
		seen[digest] = what
	}
	if digestOf(recipe, sources) != digestOf(slices.Clone(recipe), slices.Clone(sources)) {
		t.Error("equal sources have two digests")
	}
}

func TestIsDigest(t *testing.T) {
	for name, want := range map[string]bool{
		"0123456789abcdef0123456789abcdef": true, ".lock": false, ".new": false, "": false,
		"0123456789abcdef0123456789abcde": false, "0123456789ABCDEF0123456789ABCDEF": false,
	} {
		if got := isDigest(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
